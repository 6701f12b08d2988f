import { useRef } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { useResource, type Resource } from "../../ui/resource";

type Message = Schema["MessageView"];

/** How many messages one call reads, and how many at most are read to find the message of an address. */
const PAGE = 100;
const MOST = 5_000;

interface ThreadData {
  messages: readonly Message[];
  hasOlder: boolean;
}

export interface Thread extends Resource<ThreadData> {
  loadOlder: () => void;
}

/** Which message an address asks for: by its id, or as one of a turn. */
export interface Target {
  messageId: string | null;
  turnId: string | null;
}

/** Read the newest messages of a conversation, oldest first, back to the target's; older ones on demand. */
export function useThread(sessionId: string, target: Target): Thread {
  const wanted = useRef(PAGE);
  const { messageId, turnId } = target;
  const resource = useResource(
    (signal) => read(sessionId, target, wanted.current, signal),
    [sessionId, messageId, turnId],
  );
  const loadOlder = () => {
    wanted.current = (resource.data?.messages.length ?? 0) + PAGE;
    resource.reload();
  };
  return { ...resource, loadOlder };
}

async function read(sessionId: string, target: Target, wanted: number, signal: AbortSignal): Promise<ThreadData> {
  const messages: Message[] = [];
  let cursor = "";
  let isMissing = true;
  do {
    const query = { cursor, limit: PAGE };
    const page = await body(
      api.GET("/v1/sessions/{session_id}/messages", { params: { path: { session_id: sessionId }, query }, signal }),
    );
    messages.unshift(...page.messages);
    cursor = page.next_cursor;
    isMissing &&= (target.messageId ?? target.turnId) !== null && !findTarget(page.messages, target);
  } while (cursor && (messages.length < wanted || (isMissing && messages.length < MOST)));
  return { messages, hasOlder: cursor !== "" };
}

/** Return the message that an address asks for; of a turn the last one, which is the reply. */
export function findTarget(messages: readonly Message[], { messageId, turnId }: Target): Message | undefined {
  if (messageId) return messages.find(({ id }) => id === messageId);
  return turnId ? messages.findLast((message) => message.turn_id === turnId) : undefined;
}

/** Return the turn that the page shows: of the address, else of its message, else the newest. */
export function turnOf(messages: readonly Message[], turnId: string | null, messageId: string | null): string | null {
  const ofMessage = messages.find(({ id }) => id === messageId)?.turn_id;
  return turnId ?? ofMessage ?? messages.findLast(({ turn_id: id }) => id)?.turn_id ?? null;
}
