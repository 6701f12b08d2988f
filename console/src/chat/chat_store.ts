import { computed, effect, signal } from "@preact/signals";
import type { Middleware } from "openapi-fetch";
import { apiClient, body, type Client, type Credentials, type Schema } from "../api/client";
import { toProblem } from "../api/problem";
import { unlistedAgent, type Agent } from "./agent";
import { checkFiles, type PickedFile } from "./attachments";
import { Conversation, type ConversationHost } from "./conversation";
import type { SentMessage } from "./entries";
import { visitorText } from "./problem_text";
import {
  readConversation,
  readDraft,
  readVisitor,
  removeVisitor,
  writeConversation,
  writeDraft,
  writeVisitor,
  type SessionToken,
} from "./visitor_storage";

type RecordLabel = Schema["RecordLabel"];

/** How many conversations the API lists at once. */
export const LISTED = 100;

interface ChatOptions {
  agents: readonly Agent[];
  stream: boolean;
  readAs?: () => Credentials | null;
  member?: (agent: AgentKey) => Credentials | null;
  /** What the API's clients do besides, such as renewing a sign-in. */
  middleware?: readonly Middleware[];
}

/** The chat of a page: the agent, the conversation that is shown, and who the visitor is. */
export class ChatStore implements ConversationHost {
  readonly agents = signal<readonly Agent[]>([]);
  readonly conversation = signal<Conversation | null>(null);
  /** The token for all of the visitor's conversations with the agent; null before the first one, and for a member. */
  readonly visitor = signal<string | null>(null);
  /** Who lists and continues conversations: a member from the start, a visitor after the first one; "" for nobody. */
  readonly identity = computed(() => {
    const agent = this.agent.value;
    return agent && this.member(agent) ? `member of ${agent.tenant}` : (this.visitor.value ?? "");
  });
  /** What is open beside the thread. */
  readonly panel = signal<"conversations" | "memory" | null>(null);
  /** What is typed and chosen, and not sent. It stays when the conversation changes. */
  readonly draft = signal(readDraft());
  readonly files = signal<readonly PickedFile[]>([]);
  /** Why files were not taken. */
  readonly refused = signal<readonly string[]>([]);
  readonly agent = computed(() => {
    const shown = this.conversation.value?.agent;
    return this.agents.value.find((agent) => isSame(agent, shown)) ?? shown ?? null;
  });
  readonly stream: boolean;
  readonly readAs: () => Credentials | null;
  readonly member: (agent: AgentKey) => Credentials | null;

  /** The API as the member or the visitor. A visitor's token that it refuses is forgotten. */
  readonly api: Client;
  private readonly middleware: readonly Middleware[];

  constructor({ agents, stream, readAs = () => null, member = () => null, middleware = [] }: ChatOptions) {
    this.agents.value = agents;
    this.stream = stream;
    this.readAs = readAs;
    this.member = member;
    this.middleware = middleware;
    this.api = this.clientFor(() => {
      const agent = this.agent.value;
      return (agent && this.member(agent)) ?? (this.visitor.value ? { token: this.visitor.value } : null);
    });
    this.api.use({
      onResponse: ({ response }) => {
        if (response.status === 401) this.forgetVisitor();
      },
    });
    effect(() => writeDraft(this.draft.value));
  }

  /** Show an agent: this tab's conversation with it, the latest one about the record, or a new one. */
  async open(agent: Agent, about: RecordLabel | null): Promise<void> {
    const kept = readConversation();
    const isMember = this.member(agent) !== null;
    const isOwn = kept && isSame(agent, kept) && Boolean(kept.isMember) === isMember;
    const isKept = isOwn && (!about || kept.about?.handle === about.handle);
    const conversation = this.start(agent, isKept ? kept.about : about);
    if (isKept) return this.resume(conversation, kept.session);
    const latest = about && (await this.findLatest(about.handle).catch(() => null));
    if (latest && !conversation.isClosed && !conversation.entries.value.length) await this.visit(latest);
  }

  /** Return the agent of an address; one that the settings do not list can be talked to as well. */
  findAgent(tenant: string, slug: string): Agent {
    const found = this.agents.value.find((agent) => isSame(agent, { tenant, slug }));
    if (found) return found;
    const added = unlistedAgent(tenant, slug);
    this.agents.value = [...this.agents.value, added];
    return added;
  }

  /** The agent to begin with: the one of this tab's conversation, else the first. */
  firstAgent(): Agent | undefined {
    const kept = readConversation();
    const agents = this.agents.value;
    return agents.find((agent) => isSame(agent, kept)) ?? agents[0];
  }

  /** Begin a new conversation with the agent, about nothing. */
  restart(): void {
    const agent = this.agent.value;
    if (!agent) return;
    writeConversation(null);
    this.start(agent, null);
  }

  /** Continue one of the visitor's conversations. */
  async visit({ id, entity }: { id: string; entity?: RecordLabel | null }): Promise<void> {
    const agent = this.agent.value;
    if (!agent || !this.identity.value) return;
    const token = this.visitor.value ?? "";
    await this.resume(this.start(agent, entity ?? null), { session_id: id, token });
  }

  /** The phone and this page share a conversation from now on. One about a record keeps to its subject. */
  async link(linked: Schema["PhoneLinked"]): Promise<void> {
    const conversation = this.conversation.value;
    if (!conversation) return;
    writeVisitor(conversation.agent, linked);
    this.visitor.value = readVisitor(conversation.agent);
    const about = conversation.about.value;
    const current = conversation.session.value?.session_id;
    await this.visit({ id: about && current ? current : linked.session_id, entity: about });
  }

  /** Add files to what is written, as far as they may be sent. */
  async addFiles(files: readonly File[]): Promise<void> {
    if (!files.length) return;
    const { picked, refused } = await checkFiles(files, this.files.value.length);
    this.files.value = [...this.files.value, ...picked];
    this.refused.value = refused;
  }

  /** Send what is written. */
  send(): void {
    this.conversation.value?.send(this.draft.value.trim(), this.files.value);
    this.draft.value = "";
    this.files.value = [];
    this.refused.value = [];
  }

  /** Put a message that was not sent back into the composer. */
  edit(message: SentMessage): void {
    this.conversation.value?.remove(message);
    this.draft.value = [message.text, this.draft.value].filter(Boolean).join("\n");
    this.files.value = [...message.files, ...this.files.value];
  }

  /** Sign the visitor out in this browser: who uses it next is somebody else. */
  signOut(): void {
    this.forgetVisitor();
    this.restart();
  }

  /** Open a session as the visitor; one who is not known any more is a new visitor. */
  async openSession(agent: Agent, about: RecordLabel | null): Promise<Schema["OpenedSession"]> {
    const wanted = {
      tenant: agent.tenant,
      binding: agent.slug,
      entity: about?.handle ?? null,
      resume: false,
      challenge: "",
    };
    const client = this.clientFor(() => this.member(agent) ?? credentialsOf(agent));
    const open = () => body(client.POST("/v1/sessions", { body: wanted }));
    const opened = await open().catch((error: unknown) => {
      if (toProblem(error).status !== 401 || this.member(agent)) throw error;
      removeVisitor(agent);
      return open();
    });
    writeVisitor(agent, opened);
    if (isSame(agent, this.agent.value)) this.visitor.value = this.member(agent) ? null : readVisitor(agent);
    const { name, greeting } = opened.binding;
    this.agents.value = this.agents.value.map((other) => (isSame(other, agent) ? { ...other, name, greeting } : other));
    return opened;
  }

  onSession(conversation: Conversation, session: SessionToken | null): void {
    if (conversation !== this.conversation.value) return;
    const { tenant, slug } = conversation.agent;
    const isMember = this.member(conversation.agent) !== null;
    writeConversation(session && { tenant, slug, session, about: conversation.about.value, isMember });
  }

  /** Return a client of the API that acts with credentials, and renews them where that is possible. */
  clientFor(credentials: () => Credentials | null): Client {
    const client = apiClient(credentials);
    client.use(...this.middleware);
    return client;
  }

  private start(agent: Agent, about: RecordLabel | null): Conversation {
    this.leave();
    const conversation = new Conversation(agent, about, this);
    this.conversation.value = conversation;
    this.visitor.value = this.member(agent) ? null : readVisitor(agent);
    this.panel.value = null;
    return conversation;
  }

  /** Stop following the conversation that is shown. What could not be sent goes back into the composer. */
  private leave(): void {
    const left = this.conversation.value;
    left?.close();
    left?.unsent.forEach((message) => this.edit(message));
  }

  private async resume(conversation: Conversation, session: SessionToken): Promise<void> {
    try {
      await conversation.resume(session);
    } catch (error) {
      const problem = toProblem(error);
      if (conversation.isClosed) return;
      const isOver = problem.status === 404 || (problem.status === 401 && !this.member(conversation.agent));
      if (isOver) writeConversation(null);
      else conversation.notice.value = { text: visitorText(problem), canReconnect: true };
    }
  }

  private forgetVisitor(): void {
    if (this.agent.value) removeVisitor(this.agent.value);
    this.visitor.value = null;
  }

  /** Return the visitor's latest conversation about a record that is not archived. */
  private async findLatest(handle: string): Promise<Schema["SessionListItemView"] | undefined> {
    if (!this.identity.value) return undefined;
    const query = { entity: handle, limit: LISTED };
    const page = await body(this.api.GET("/v1/sessions", { params: { query } }));
    return [...page.sessions].sort((one, other) => other.last_active_at.localeCompare(one.last_active_at))[0];
  }
}

function credentialsOf(agent: AgentKey): Credentials | null {
  const token = readVisitor(agent);
  return token ? { token } : null;
}

type AgentKey = Pick<Agent, "tenant" | "slug">;

function isSame(agent: AgentKey, other: AgentKey | null | undefined): boolean {
  return agent.tenant === other?.tenant && agent.slug === other.slug;
}
