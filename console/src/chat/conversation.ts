import { signal, type Signal } from "@preact/signals";
import type { Approval, ApprovalAnswer } from "../approvals/approval";
import { apiClient, body, type Client, type Credentials, type Schema } from "../api/client";
import { sessionEvents, type SessionEvent } from "../api/events";
import { Problem, toProblem } from "../api/problem";
import type { Agent } from "./agent";
import { uploadFiles, type PickedFile } from "./attachments";
import { Reply, SentMessage, type Entry } from "./entries";
import { visitorText } from "./problem_text";
import type { SessionToken } from "./visitor_storage";

type Message = Schema["MessageView"];
type RecordLabel = Schema["RecordLabel"];

/** Milliseconds without an event: after `slow` the page says so, after `late` it stops waiting. */
const SILENCE = { slow: 20_000, late: 300_000 };

/** What a conversation needs of the page. */
export interface ConversationHost {
  /** Whether the API streams events here; else they are polled. */
  stream: boolean;
  /** Credentials of somebody who signed in without being a member, whose citations carry links; null for visitors. */
  readAs: () => Credentials | null;
  /** Return a client of the API that acts with credentials. */
  clientFor: (credentials: () => Credentials | null) => Client;
  /** Credentials with which a signed-in member talks to the agent as themselves; null for visitors. */
  member: (agent: Agent) => Credentials | null;
  openSession: (agent: Agent, about: RecordLabel | null) => Promise<Schema["OpenedSession"]>;
  /** A session was opened, or it has ended (null). */
  onSession: (conversation: Conversation, session: SessionToken | null) => void;
}

/** Who answers: the agent, nobody yet because a person is needed, or a person. */
export interface Answering {
  who: "agent" | "waiting" | "person";
  person: string;
}

export interface ChatNotice {
  text: string;
  /** Whether reading the conversation again can help. */
  canReconnect: boolean;
}

/** One conversation with an agent. */
export class Conversation {
  readonly entries = signal<readonly Entry[]>([]);
  /** The session; null until the first message opens it. */
  readonly session = signal<SessionToken | null>(null);
  readonly about: Signal<RecordLabel | null>;
  readonly notice = signal<ChatNotice | null>(null);
  readonly isLoading = signal(false);
  /** Whether a linked phone writes in this conversation, too. */
  readonly isShared = signal(false);
  /** The cursor of the messages before the first one shown; "" if there are none. */
  readonly earlier = signal("");
  /** The questions of this conversation to the visitor or others, oldest first. */
  readonly approvals = signal<readonly Approval[]>([]);
  /** The turn that writes a reply now; "" for none. */
  readonly runningTurn = signal("");
  /** Who answers; the person's name where one does. */
  readonly answering = signal<Answering>({ who: "agent", person: "" });
  /** The turn that ended last. */
  readonly lastTurn = signal<string | null>(null);

  private readonly closed = new AbortController();
  private readonly api: Client;
  private readonly reader = apiClient(() => this.host.readAs());
  /** Messages leave one after another, in the order in which they were written. */
  private queue: Promise<void> = Promise.resolve();
  private opening: Promise<Schema["OpenedSession"]> | null = null;
  /** A session to continue that could not be read yet. */
  private unread: SessionToken | null = null;
  private readonly unanswered = new Set<SentMessage>();
  /** Ids of messages that joined a running turn, perhaps before the answer to their request was read. */
  private readonly joined = new Set<string>();
  private reply: Reply | null = null;
  private turn = "";
  private lastEvent = 0;
  /** Whether another turn follows the one that ended, though nothing was written since: the next desk's after a handoff. */
  private isContinued = false;
  private following: AbortController | null = null;
  private timers: readonly ReturnType<typeof setTimeout>[] = [];

  constructor(
    readonly agent: Agent,
    about: RecordLabel | null,
    private readonly host: ConversationHost,
  ) {
    this.about = signal(about);
    this.api = host.clientFor(() => this.credentials());
  }

  /** A member's own sign-in, which is renewed, or the token of a visitor's session. */
  private credentials(): Credentials | null {
    return this.session.value && (this.host.member(this.agent) ?? { token: this.session.value.token });
  }

  get isClosed(): boolean {
    return this.closed.signal.aborted;
  }

  /** Whether somebody is asked: the answer may come from elsewhere, and a reply after it. */
  get hasOpenQuestion(): boolean {
    return this.approvals.value.some(({ state }) => state === "asked" || state === "approved" || state === "claimed");
  }

  /** Whether a person is to answer: the agent waits, and no event says when they write. */
  get isHeld(): boolean {
    return this.answering.value.who !== "agent";
  }

  /** Whether a reply is under way or awaited. */
  private get isBusy(): boolean {
    return this.following !== null || this.unanswered.size > 0;
  }

  /** The messages that could not be sent. */
  get unsent(): readonly SentMessage[] {
    const sent = this.entries.value.filter((entry) => entry instanceof SentMessage);
    return sent.filter((message) => message.state.value === "failed");
  }

  /** Stop following the events, because another conversation is shown. Messages in the queue are still sent. */
  close(): void {
    this.closed.abort();
    this.stopFollowing();
  }

  /** Show a session as it is stored, and continue it. Throws a Problem if it cannot be read. */
  async resume(session: SessionToken): Promise<void> {
    this.isLoading.value = true;
    this.unread = session;
    this.session.value = session;
    try {
      const view = await this.readSession();
      const page = await this.readMessages();
      if (this.isClosed) return;
      this.unread = null;
      this.lastEvent = view.last_event;
      this.isShared.value = view.is_main;
      this.answering.value = answeringOf(view);
      this.about.value = view.entity ?? this.about.value;
      this.host.onSession(this, session);
      this.showStored(page, view.has_open_turn ?? false);
      void this.readApprovals();
    } catch (error) {
      this.session.value = null;
      throw error;
    } finally {
      this.isLoading.value = false;
    }
  }

  /** Send a message, with files that were checked. */
  send(text: string, files: readonly PickedFile[] = []): void {
    const message = new SentMessage(text, files, files);
    this.notice.value = null;
    const isAnswered = this.reply && !this.reply.hasBegun;
    const others = this.entries.value.filter((entry) => !isAnswered || entry !== this.reply);
    this.entries.value = isAnswered && this.reply ? [...others, message, this.reply] : [...others, message];
    this.enqueue(message);
  }

  /** Send a message again that could not be sent. */
  retry(message: SentMessage): void {
    this.notice.value = null;
    message.state.value = "sending";
    this.enqueue(message);
  }

  /** Take a message out that was not sent. */
  remove(message: SentMessage): void {
    this.entries.value = this.entries.value.filter((entry) => entry !== message);
    this.notice.value = null;
  }

  /** Read the conversation again after a lost connection. */
  async reconnect(): Promise<void> {
    this.notice.value = null;
    try {
      if (this.unread) await this.resume(this.unread);
      else await this.refresh();
    } catch (error) {
      this.fail(toProblem(error));
    }
  }

  /** Read what came from elsewhere: a linked phone, another tab. Return whether there was something new. */
  async refresh(): Promise<boolean> {
    if (!this.canRefresh || !this.session.value) return false;
    const view = await this.readSession();
    const page = await this.readMessages();
    if (!this.canRefresh) return false;
    this.isShared.value = view.is_main;
    if (this.hasOpenQuestion) await this.readApprovals();
    const stored = this.entries.value.filter((entry) => entry.id !== null);
    const wasHeld = this.isHeld;
    this.answering.value = answeringOf(view);
    const isSame = wasHeld === this.isHeld && page.messages.at(-1)?.id === stored.at(-1)?.id;
    if (!page.messages.length || isSame) return false;
    this.stopFollowing();
    this.unanswered.clear();
    this.reply = null;
    this.lastEvent = Math.max(this.lastEvent, view.last_event);
    this.showStored(page, view.has_open_turn ?? false);
    await this.readApprovals();
    return true;
  }

  /** Whether no reply is under way here. One to a message of the phone has no events, so it is read like any news. */
  private get canRefresh(): boolean {
    if (this.isClosed) return false;
    if (!this.isBusy) return true;
    const isOwn = [...this.unanswered].some((message) => message.isOwn);
    return this.isShared.value && !isOwn && !this.reply?.hasBegun;
  }

  /** Stop the turn that runs. Its reply ends with what is there. */
  async stop(): Promise<void> {
    const [turn, session] = [this.runningTurn.value, this.session.value];
    if (!turn || !session) return;
    if (this.reply) this.reply.activity.value = "Stopping";
    const params = { path: { session_id: session.session_id, turn_id: turn } };
    try {
      const result = await body(this.api.POST("/v1/sessions/{session_id}/turns/{turn_id}/stop", { params }));
      if (this.reply && result.running_write) this.reply.activity.value = result.message;
    } catch (error) {
      this.notice.value = { text: visitorText(toProblem(error)), canReconnect: false };
    }
  }

  /** Answer a question. The turn that does it, or reads the refusal, is followed. */
  async answer(approval: Approval, answer: ApprovalAnswer): Promise<void> {
    const params = { path: { approval_id: approval.id } };
    try {
      await body(this.api.POST("/v1/approvals/{approval_id}/answer", { params, body: answer }));
    } finally {
      await this.readApprovals();
    }
    if (this.isClosed || answer.arguments) return;
    void this.follow();
    if (this.reply) this.reply.activity.value = "Reading your answer";
  }

  /** Read the questions as they stand. A failure leaves those that are shown: the next event reads them again. */
  private async readApprovals(): Promise<void> {
    const session = this.session.value?.session_id;
    const query = { state: "all", limit: 50 } as const;
    const page = await body(this.api.GET("/v1/approvals", { params: { query } })).catch(() => null);
    if (!page || this.isClosed) return;
    this.approvals.value = page.approvals.filter((approval) => approval.session_id === session).reverse();
  }

  /** Show the page of messages before the first one. */
  async loadEarlier(): Promise<void> {
    const page = await this.readMessages(this.earlier.value);
    if (this.isClosed) return;
    this.earlier.value = page.next_cursor;
    this.entries.value = [...page.messages.map(toEntry), ...this.entries.value];
  }

  private enqueue(message: SentMessage): void {
    this.queue = this.queue.then(() => this.post(message));
  }

  private async post(message: SentMessage): Promise<void> {
    try {
      const session = await this.openSession();
      const attachments = await uploadFiles(message.files, session.session_id, this.api);
      const accepted = await body(
        this.api.POST("/v1/sessions/{session_id}/messages", {
          params: { path: { session_id: session.session_id } },
          body: { text: message.text, attachments, client_message_id: message.clientId },
        }),
      );
      message.id = accepted.message_id;
      message.at = accepted.received_at;
      message.state.value = this.reply?.hasBegun ? "waiting" : "sent";
      if (this.isClosed || this.isHeld) return;
      if (!this.joined.has(accepted.message_id)) this.unanswered.add(message);
      void this.follow();
    } catch (error) {
      message.state.value = "failed";
      if (!this.isClosed) this.failToSend(toProblem(error));
    }
  }

  private failToSend(problem: Problem): void {
    const about = this.about.value;
    const isRefused = problem.status === 404 && !this.session.value && !this.unread;
    if (this.isOver(problem)) this.endSession();
    const text = isRefused
      ? about
        ? `${this.agent.name} has no access to ${about.name}. Remove the record, or choose another agent.`
        : `${this.agent.name} cannot be reached at this address. Check the address, or choose another agent.`
      : visitorText(problem);
    this.notice.value = { text, canReconnect: false };
  }

  /** A session is opened with the first message, not with the page. */
  private async openSession(): Promise<SessionToken> {
    if (this.unread) await this.resume(this.unread);
    if (this.session.value) return this.session.value;
    this.opening ??= this.host.openSession(this.agent, this.about.value);
    try {
      const opened = await this.opening;
      const token = this.host.member(this.agent) ? "" : opened.token;
      this.session.value = { session_id: opened.session_id, token };
      this.about.value = opened.entity ?? this.about.value;
      this.host.onSession(this, this.session.value);
      return this.session.value;
    } finally {
      this.opening = null;
    }
  }

  /** Whether the session cannot be continued. A member whose sign-in ended signs in again. */
  private isOver({ status }: Problem): boolean {
    return status === 404 || (status === 401 && !this.host.member(this.agent));
  }

  private endSession(): void {
    this.stopFollowing();
    this.session.value = null;
    this.unread = null;
    this.lastEvent = 0;
    this.turn = "";
    this.host.onSession(this, null);
  }

  private async readSession(): Promise<Schema["SessionView"]> {
    const id = this.session.value?.session_id ?? "";
    return body(this.api.GET("/v1/sessions/{session_id}", { params: { path: { session_id: id } } }));
  }

  /** Return a page of stored messages, as the signed-in member where there is one: only their citations have links. */
  private async readMessages(cursor = ""): Promise<Schema["MessagePageView"]> {
    const params = { path: { session_id: this.session.value?.session_id ?? "" }, query: { cursor } };
    if (this.host.readAs()) {
      const page = await body(this.reader.GET("/v1/sessions/{session_id}/messages", { params })).catch(() => null);
      if (page) return page;
    }
    return body(this.api.GET("/v1/sessions/{session_id}/messages", { params }));
  }

  /** Show the newest page as stored. Earlier messages and those that were not sent stay. */
  private showStored({ messages, next_cursor: cursor }: Schema["MessagePageView"], hasOpenTurn: boolean): void {
    const ids = new Set(messages.map(({ id }) => id));
    const first = this.entries.value.findIndex((entry) => entry.id !== null && ids.has(entry.id));
    const before = this.entries.value.slice(0, Math.max(0, first)).filter((entry) => entry.id !== null);
    const unsent = this.entries.value.filter((entry) => entry instanceof SentMessage && entry.id === null);
    if (!before.length) this.earlier.value = cursor;
    const stored = messages.map(toEntry);
    this.entries.value = [...before, ...stored, ...unsent];
    const last = stored.at(-1);
    if (last instanceof SentMessage && !this.isHeld) this.unanswered.add(last);
    if (this.unanswered.size || hasOpenTurn) void this.follow();
  }

  private async follow(): Promise<void> {
    const session = this.session.value;
    if (this.following || !session) return;
    const abort = new AbortController();
    this.following = abort;
    this.awaitReply();
    try {
      const options = { stream: this.host.stream, signal: abort.signal };
      const credentials = () => this.credentials();
      for await (const event of sessionEvents(session.session_id, credentials, this.lastEvent, options)) {
        this.lastEvent = event.number;
        await this.receive(event);
        if (event.kind === "done" && !this.unanswered.size && !this.isContinued) break;
      }
    } catch (error) {
      if (!abort.signal.aborted) this.fail(toProblem(error));
    } finally {
      if (this.following === abort) this.stopFollowing();
    }
    // A message that was sent while the loop ended found this one still there.
    if (this.unanswered.size && !this.isClosed) void this.follow();
  }

  private stopFollowing(): void {
    this.timers.forEach(clearTimeout);
    this.following?.abort();
    this.following = null;
    this.runningTurn.value = "";
  }

  private awaitReply(): void {
    this.reply ??= this.beginReply();
    this.watchSilence();
  }

  private watchSilence(): void {
    this.timers.forEach(clearTimeout);
    this.timers = [
      setTimeout(() => {
        if (this.reply) this.reply.activity.value = "Still working. This takes longer than usual";
      }, SILENCE.slow),
      setTimeout(
        () => this.fail(new Problem(0, "late", "No answer yet. It will appear here when it is ready.")),
        SILENCE.late,
      ),
    ];
  }

  private beginReply(): Reply {
    const reply = new Reply();
    this.entries.value = [...this.entries.value, reply];
    return reply;
  }

  private async receive(event: SessionEvent): Promise<void> {
    this.watchSilence();
    if (event.kind === "messages_joined") return this.markJoined(event.payload.message_ids);
    if (event.kind === "approval") return this.readApprovals();
    if (event.turn_id !== this.turn) this.beginTurn(event);
    if (event.kind === "done") return this.endTurn(event.turn_id, event.payload.message_id);
    this.reply ??= this.beginReply();
    this.reply.receive(event);
  }

  /** A turn answers what had arrived when it began. What came later waits for the next one, below the reply. */
  private beginTurn({ turn_id: turn, at }: SessionEvent): void {
    this.turn = this.runningTurn.value = turn;
    for (const message of this.unanswered) {
      if (message.at && Date.parse(message.at) > Date.parse(at)) continue;
      this.unanswered.delete(message);
      message.state.value = "sent";
    }
    this.reply ??= this.beginReply();
    const isBelow = (entry: Entry) =>
      entry instanceof SentMessage && (this.unanswered.has(entry) || entry.state.value === "sending");
    const others = this.entries.value.filter((entry) => entry !== this.reply);
    this.entries.value = [...others.filter((entry) => !isBelow(entry)), this.reply, ...others.filter(isBelow)];
  }

  /** Messages that joined the running turn wait for no other. */
  private markJoined(ids: readonly string[]): void {
    ids.forEach((id) => this.joined.add(id));
    for (const message of this.unanswered) {
      if (!message.id || !ids.includes(message.id)) continue;
      this.unanswered.delete(message);
      message.state.value = "sent";
    }
  }

  private async endTurn(turnId: string, messageId: string): Promise<void> {
    const reply = this.reply;
    this.reply = null;
    this.runningTurn.value = "";
    const page = await this.readMessages().catch(() => null);
    const stored = page?.messages.find(({ id }) => id === messageId);
    const isShown = stored && this.entries.value.some((entry) => entry !== reply && entry.id === stored.id);
    if (isShown) this.entries.value = this.entries.value.filter((entry) => entry !== reply);
    else if (stored) reply?.store(stored);
    else reply?.end();
    this.lastTurn.value = turnId;
    const view = await this.readSession().catch(() => null);
    if (view) this.answering.value = answeringOf(view);
    this.isContinued = view !== null && (view.has_open_turn || view.last_event > this.lastEvent);
    await this.readApprovals();
    this.unanswered.forEach((message) => (message.state.value = "sent"));
    if (this.unanswered.size || this.isContinued) this.awaitReply();
  }

  private fail(problem: Problem): void {
    this.unanswered.clear();
    this.reply?.fail("The connection was lost before the reply was complete.");
    this.reply = null;
    if (this.isOver(problem)) this.endSession();
    else this.stopFollowing();
    this.notice.value = { text: visitorText(problem), canReconnect: Boolean(this.session.value ?? this.unread) };
  }
}

function answeringOf({ answering, person }: Schema["SessionView"]): Answering {
  return { who: answering ?? "agent", person: person ?? "" };
}

function toEntry(message: Message): Entry {
  return message.direction === "inbound" ? SentMessage.ofStored(message) : Reply.ofStored(message);
}
