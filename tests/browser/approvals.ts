import { randomUUID } from "node:crypto";

import type { Page } from "@playwright/test";

import type { Schema } from "./api.ts";

type Approval = Schema["ApprovalView"];
type Answer = Schema["ApprovalAnswer"];

const ARGUMENTS = { foreman: "Joanna Pryce", message: "TC-2 is booked for Thursday at 07:00.", urgent: true };

/** The approvals of a page, made up: the offline model calls no tool that asks. Answers change them as the API does. */
export class Approvals {
  /** The answers that the page gave. */
  readonly answers: Answer[] = [];
  private listed: Approval[] = [];

  constructor(private readonly page: Page) {}

  /** Answer the page's requests from here on. */
  async start(): Promise<void> {
    await this.page.route("**/v1/approvals?*", (route) =>
      route.fulfill({ json: { approvals: this.listed, next_cursor: "" } }),
    );
    await this.page.route(/\/v1\/approvals\/[0-9a-f-]{36}$/, (route) => {
      const id = route.request().url().slice(-36);
      return route.fulfill({ json: this.listed.find((approval) => approval.id === id) });
    });
    await this.page.route("**/v1/approvals/*/answer", (route) => {
      const answer = route.request().postDataJSON() as Answer;
      this.answers.push(answer);
      const code = answer.arguments ? "asked_again" : answer.decision === "approve" ? "approved" : "refused";
      return route.fulfill({ json: { code, message: "The answer was taken.", approval: this.answer(answer) } });
    });
  }

  /** Ask about a call in a conversation. */
  ask(sessionId: string, approver: Approval["approver"], canAnswer = true): void {
    const now = new Date();
    this.listed = [
      {
        id: randomUUID(),
        session_id: sessionId,
        tool: "notify_foreman",
        text: "Notify foreman",
        arguments: rows(ARGUMENTS),
        raw_arguments: ARGUMENTS,
        options: ["approve", "refuse", "edit"],
        channel: "web",
        can_answer: canAnswer,
        status_text: "The question is open.",
        approver,
        state: "asked",
        reason: "",
        created_at: now.toISOString(),
        expires_at: new Date(now.getTime() + 24 * 3_600_000).toISOString(),
        answered_at: null,
        answered_by: null,
        done_at: null,
      },
      ...this.listed,
    ];
  }

  private answer({ decision, reason, arguments: changed }: Answer): Approval | undefined {
    const [newest, ...others] = this.listed;
    if (!newest) return undefined;
    const at = new Date().toISOString();
    if (changed) {
      const replaced: Approval = {
        ...newest,
        state: "superseded",
        can_answer: false,
        reason: "The arguments were edited.",
      };
      const renewed = { ...newest, id: randomUUID(), arguments: rows(changed), raw_arguments: changed };
      this.listed = [renewed, replaced, ...others];
    } else {
      const state = decision === "approve" ? "done" : "refused";
      const done = { state, can_answer: false, reason: reason ?? "", answered_at: at, done_at: at } as const;
      this.listed = [{ ...newest, ...done }, ...others];
    }
    return this.listed[0];
  }
}

function rows(values: Record<string, unknown>): Approval["arguments"] {
  return Object.entries(values).map(([name, value]) => ({
    label: name.charAt(0).toUpperCase() + name.slice(1),
    value: String(value),
  }));
}
