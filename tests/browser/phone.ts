import { randomInt } from "node:crypto";

import { expect, type APIRequestContext } from "@playwright/test";

import { variable } from "./api.ts";

interface Received {
  text: string;
  buttons: { id: string; title: string }[];
}

/** Somebody who writes to the site desk on WhatsApp, from a number of the range that is kept for drama. */
export class Phone {
  readonly number = `447700900${randomInt(100, 1_000)}`;

  constructor(private readonly request: APIRequestContext) {}

  /** Write a text message, now or at another time (milliseconds). */
  async write(text: string, sentAt = Date.now()): Promise<void> {
    await this.send("text", { text }, sentAt);
  }

  /** Press a button below the last message. */
  async press(title: string): Promise<void> {
    const button = (await this.received()).at(-1)?.buttons.find((one) => one.title === title);
    await this.send("button_reply", { title, id: crypto.randomUUID(), reply: title, postbackText: button?.id });
  }

  /** Return what came to the phone, oldest first. */
  async received(): Promise<Received[]> {
    const params = { to: `+${this.number}` };
    const answer = await this.request.get(`${variable("CONSOLE_PHONE")}/messages`, { params });
    return ((await answer.json()) as { messages: Received[] }).messages;
  }

  private async send(type: string, payload: object, sentAt = Date.now()): Promise<void> {
    const sender = { phone: this.number, name: "Jon" };
    const message = { id: crypto.randomUUID(), source: this.number, type, payload, sender };
    const data = { app: "ParlourDemo", timestamp: sentAt, version: 2, type: "message", payload: message };
    expect((await this.request.post(variable("CONSOLE_WEBHOOK"), { data })).ok()).toBe(true);
  }
}
