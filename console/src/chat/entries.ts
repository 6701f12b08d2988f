import { computed, signal } from "@preact/signals";
import type { Schema } from "../api/client";
import type { SessionEvent } from "../api/events";
import type { PickedFile } from "./attachments";

type Message = Schema["MessageView"];
type RecordOperation = Schema["RecordOperation"];

/** What a thread shows, in order. */
export type Entry = SentMessage | Reply;

export interface AttachmentLabel {
  kind: string;
  name: string;
  size_bytes: number;
}

/** A message of the visitor. */
export class SentMessage {
  readonly key: string = newId();
  /** Makes it harmless to send the message again. */
  readonly clientId: string = this.key;
  id: string | null = null;
  /** Whether this page sent it. */
  isOwn = true;
  /** When the API received it. */
  at: string | null = null;
  /** `waiting`: it came while a reply was under way, so the next turn answers it. */
  readonly state = signal<"sending" | "waiting" | "sent" | "failed">("sending");

  constructor(
    readonly text: string,
    readonly attachments: readonly AttachmentLabel[] = [],
    /** What is to be uploaded before the message is sent. */
    readonly files: readonly PickedFile[] = [],
  ) {}

  static ofStored(message: Message): SentMessage {
    const sent = new SentMessage(message.text, message.attachments);
    sent.id = message.id;
    sent.at = message.at;
    sent.isOwn = false;
    sent.state.value = "sent";
    return sent;
  }
}

const TOOL_WORDS: Record<string, string> = { search_knowledge: "Searching the documents" };
const STATE_WORDS: Record<"thinking" | "executing" | "waiting", string> = {
  thinking: "Thinking",
  executing: "Working",
  waiting: "Waiting for an answer",
};
/** What an operation is called while it runs, and once it has changed something. */
const ACTION_WORDS: Record<string, { running: string; done?: string }> = {
  search: { running: "Searching" },
  list: { running: "Listing" },
  read: { running: "Reading" },
  create: { running: "Creating", done: "Created" },
  update: { running: "Changing", done: "Changed" },
  link: { running: "Linking", done: "Linked" },
  unlink: { running: "Unlinking", done: "Unlinked" },
};

/** A reply of the agent, while it is written and after. */
export class Reply {
  readonly key: string = newId();
  id: string | null = null;
  /** Whether its turn has begun. Before that it is a place in the thread. */
  hasBegun = false;
  /** The text of each step of the model that has one; of a stored reply there is one. */
  private readonly blocks = signal<ReadonlyMap<number, string>>(new Map());
  /** The reply: each block is a paragraph, as it will be stored. */
  readonly text = computed(() =>
    [...this.blocks.value.values()]
      .map((text) => text.trim())
      .filter(Boolean)
      .join("\n\n"),
  );
  /** What the agent is doing; "" when it is writing or has ended. */
  readonly activity = signal("Reading your message");
  readonly isComplete = signal(false);
  /** One line for each change of a record. */
  readonly changes = signal<readonly string[]>([]);
  /** What the model thought, by step; only members receive it. `milliseconds`: null while it thinks. */
  readonly reasoning = signal<ReadonlyMap<number, { text: string; milliseconds: number | null }>>(new Map());
  /** Whether its turn was stopped: the text is what there was of it. */
  readonly isStopped = signal(false);
  /** Why there is no complete reply. */
  readonly failure = signal("");
  readonly at = signal<string | null>(null);
  /** The agent or the person who writes; "" until it is known. */
  readonly author = signal("");
  /** The sources of a stored reply; null while it is written. */
  readonly citations = signal<readonly Schema["CitationView"][] | null>(null);

  static ofStored(message: Message): Reply {
    const reply = new Reply();
    reply.store(message);
    return reply;
  }

  /** Show what happened in the turn. */
  receive(event: SessionEvent): void {
    this.hasBegun = true;
    switch (event.kind) {
      case "session":
        this.author.value = event.payload.answered_by;
        break;
      case "agent_state":
        this.activity.value = STATE_WORDS[event.payload.state];
        break;
      case "text_delta":
        this.activity.value = "";
        this.addText(event.payload.block, event.payload.text);
        break;
      case "reasoning_delta":
        this.showReasoning(event.payload.block, event.payload.text, null);
        break;
      case "reasoning_end":
        this.showReasoning(event.payload.block, "", event.payload.milliseconds);
        break;
      case "text_reset":
        this.blocks.value = new Map([...this.blocks.value].filter(([block]) => block !== event.payload.step));
        this.reasoning.value = new Map([...this.reasoning.value].filter(([block]) => block !== event.payload.step));
        this.activity.value = "Starting the reply again";
        break;
      case "tool_call":
        this.activity.value = describeTool(event.payload.name);
        break;
      case "tool_result":
        this.activity.value = event.payload.ok ? "Reading the results" : "That failed. Trying another way";
        break;
      case "operation":
        this.showOperation(event.payload);
        break;
      case "error":
        this.fail(event.payload.message);
        break;
    }
  }

  private addText(block: number, delta: string): void {
    this.blocks.value = new Map(this.blocks.value).set(block, (this.blocks.value.get(block) ?? "") + delta);
  }

  private showReasoning(block: number, text: string, milliseconds: number | null): void {
    const before = this.reasoning.value.get(block);
    const ended = milliseconds === null ? null : (before?.milliseconds ?? 0) + milliseconds;
    this.reasoning.value = new Map(this.reasoning.value).set(block, {
      text: (before?.text ?? "") + text,
      milliseconds: ended,
    });
  }

  /** Say what a tool does while it runs, and keep what it changed. */
  private showOperation(operation: RecordOperation): void {
    const words = ACTION_WORDS[operation.action];
    if (operation.status === "start" && words) this.activity.value = `${words.running} ${operationObject(operation)}`;
    if (operation.status === "success" && words?.done)
      this.changes.value = [...this.changes.value, describeChange(operation, words.done)];
  }

  /** Show the reply as it is stored: its text is final, and its citations have titles. */
  store(message: Message): void {
    this.id = message.id;
    this.hasBegun = true;
    this.blocks.value = new Map([[0, message.text]]);
    this.citations.value = message.citations;
    this.at.value = message.at;
    this.author.value = message.answered_by;
    this.isStopped.value = message.is_stopped ?? false;
    this.failure.value = "";
    this.end();
  }

  fail(message: string): void {
    this.failure.value = message;
    this.end();
  }

  end(): void {
    this.activity.value = "";
    this.isComplete.value = true;
  }
}

/** Return an id that no other message has. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function describeTool(name: string): string {
  return TOOL_WORDS[name] ?? `Using ${name.replaceAll("_", " ")}`;
}

function describeChange(
  { entity_type: type, entity_name: name, other_record: other }: RecordOperation,
  verb: string,
): string {
  const others = other ? ` and ${other.entity_name}` : "";
  return `${verb} ${type.replaceAll("_", " ")}: ${name}${others}`;
}

/** Return what an operation is about, in words. */
function operationObject({ action, entity_type: type, entity_name: name }: RecordOperation): string {
  if (action === "search") return name ? `for “${name}”` : "the documents";
  const plural = action === "list" ? `${type.replaceAll("_", " ")} records` : type.replaceAll("_", " ");
  return name ? `${plural}: ${name}` : plural;
}
