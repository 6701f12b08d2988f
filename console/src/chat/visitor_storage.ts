import type { Schema } from "../api/client";
import { readBrowser, readTab, writeBrowser, writeTab } from "../api/storage";

const CONVERSATION = "parlour.conversation";
const DRAFT = "parlour.draft";
const VISITORS = "parlour.visitors";

/** An agent as the pages' settings name it. */
interface AgentKey {
  tenant: string;
  slug: string;
}

export interface SessionToken {
  session_id: string;
  token: string;
}

/** The conversation that this tab shows, so that a reload continues it. */
interface OpenConversation extends AgentKey {
  session: SessionToken;
  about: Schema["RecordLabel"] | null;
  /** Whether a signed-in member talks, whose sessions need no token. */
  isMember?: boolean;
}

interface StoredVisitor {
  token: string;
  expires_at: string;
}

export const readConversation = () => readTab<OpenConversation>(CONVERSATION);

export const writeConversation = (conversation: OpenConversation | null) => writeTab(CONVERSATION, conversation);

export const readDraft = () => readTab<string>(DRAFT) ?? "";

export const writeDraft = (text: string) => writeTab(DRAFT, text || null);

/** Return the token that lists and continues all of the visitor's conversations with an agent; null without a valid one. */
export function readVisitor(agent: AgentKey): string | null {
  const found = readVisitors()[visitorKey(agent)];
  return found && Date.parse(found.expires_at) > Date.now() ? found.token : null;
}

/** Keep a visitor's token in this browser for as long as it is valid. */
export function writeVisitor(
  agent: AgentKey,
  opened: { visitor_token?: string | null; visitor_expires_at?: string | null },
): void {
  const { visitor_token: token, visitor_expires_at: expiresAt } = opened;
  if (!token || !expiresAt) return;
  writeBrowser(VISITORS, { ...readVisitors(), [visitorKey(agent)]: { token, expires_at: expiresAt } });
}

/** Sign the visitor out in this browser. */
export function removeVisitor(agent: AgentKey): void {
  const others = Object.entries(readVisitors()).filter(([key]) => key !== visitorKey(agent));
  writeBrowser(VISITORS, Object.fromEntries(others));
}

function readVisitors(): Record<string, StoredVisitor> {
  return readBrowser<Record<string, StoredVisitor>>(VISITORS) ?? {};
}

function visitorKey({ tenant, slug }: AgentKey): string {
  return `${tenant}/${slug}`;
}
