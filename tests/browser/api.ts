import { expect, type APIRequestContext } from "@playwright/test";

import type { components } from "../../console/src/api/schema.d.ts";
import { Phone } from "./phone.ts";

/** The types of the API's bodies by name. */
export type Schema = components["schemas"];

export const TENANT = variable("CONSOLE_TENANT");
export const OPERATOR_KEY = variable("CONSOLE_OPERATOR_KEY");

/** Return an environment variable that the launcher sets. */
export function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing: run \`make browser\`.`);
  return value;
}

/** The API as the deployment's operator in the example tenant. */
export class Operator {
  constructor(private readonly request: APIRequestContext) {}

  async get<Body>(path: string, query: Record<string, string> = {}): Promise<Body> {
    return this.send<Body>("GET", `${path}?${new URLSearchParams(query).toString()}`);
  }

  async send<Body>(method: string, path: string, data?: object): Promise<Body> {
    const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Parlour-Tenant": TENANT };
    const answer = await this.request.fetch(`../v1/${path}`, { method, headers, ...(data ? { data } : {}) });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
    const text = await answer.text();
    return (text ? JSON.parse(text) : undefined) as Body;
  }

  /** Create a risk that no other test uses. */
  async createRisk(name: string): Promise<Schema["RecordView"]> {
    const properties = { owner: "Joanna Pryce", state: "open", severity: "low", response: "Watch it for a week." };
    return this.send("POST", "entities", { type: "risk", name, properties });
  }

  /** Create a key with these roles. */
  async createKey(name: string, roles: ("admin" | "editor" | "viewer")[]): Promise<Schema["CreatedKeyView"]> {
    return this.send("POST", "keys", { name, roles, clearance: 3, scopes: [] });
  }

  /** Upload a file as the page does. Return its id. */
  async uploadFile(name: string, content: string): Promise<string> {
    const buffer = Buffer.from(content);
    const { file, upload } = await this.send<Schema["UploadStarted"]>("POST", "files", {
      name,
      size_bytes: buffer.length,
    });
    const multipart = { ...upload.fields, file: { name, mimeType: "text/markdown", buffer } };
    expect((await this.request.post(upload.url, { multipart })).ok()).toBe(true);
    await this.send("POST", `files/${file.id}/complete`);
    return file.id;
  }

  /** Let a customer write a day ago, so that the reply has to wait for a person. Return the conversation's id. */
  async holdReply(): Promise<string> {
    const phone = new Phone(this.request);
    await phone.write("When does the crane come?", Date.now() - 26 * 3_600_000);
    const held = async () => {
      const { items } = await this.get<Schema["AttentionPageView"]>("attention");
      const found = items.find((item) => item.kind === "held_reply" && item.recipient.endsWith(phone.number.slice(-3)));
      return found?.kind === "held_reply" ? found.session_id : "";
    };
    await expect.poll(held, { timeout: 20_000 }).not.toBe("");
    return held();
  }
}

export interface Conversation {
  sessionId: string;
  turnId: string;
  personId: string;
  /** A word of the question that no other conversation has. */
  word: string;
}

/** Let a new visitor ask the site desk, and wait for the reply. Facts are found at the beginning of a text without a mark. */
export async function ask(
  request: APIRequestContext,
  question: string,
  { isMarked = true } = {},
): Promise<Conversation> {
  const opened = await request.post("../v1/sessions", { data: { tenant: TENANT, binding: "site-desk" } });
  const { session_id: sessionId, token } = (await opened.json()) as Schema["OpenedSession"];
  const headers = { Authorization: `Bearer ${token}` };
  const word = `Q${sessionId.slice(-6)}`;
  const text = isMarked ? `${word}, ${question}` : question;
  await request.post(`../v1/sessions/${sessionId}/messages`, { headers, data: { text } });
  const operator = new Operator(request);
  const replies = async () => {
    const { messages } = await operator.get<Schema["MessagePageView"]>(`sessions/${sessionId}/messages`);
    return messages.find(({ direction }) => direction === "outbound")?.turn_id ?? "";
  };
  await expect.poll(replies, { timeout: 20_000, intervals: [200] }).not.toBe("");
  const { person } = await operator.get<Schema["ConversationView"]>(`conversations/${sessionId}`);
  return { sessionId, turnId: await replies(), personId: person.id, word };
}
