import { useLayoutEffect, useRef } from "preact/hooks";
import type { Schema } from "../../api/client";
import { Button } from "../../ui/Button";
import { CitedText } from "../../ui/CitedText";
import { bytes } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { EmptyState, Notice } from "../../ui/states";
import { Time } from "../../ui/Time";
import type { Thread } from "./thread";

type Message = Schema["MessageView"];

interface ThreadProps {
  thread: Thread;
  person: string;
  agent: string;
  /** The message that the address asks for, to be marked. */
  foundId: string | null;
  /** The message that is scrolled to first; null: the newest. */
  firstShownId: string | null;
  /** The turn whose trace is shown, and what is called with another; null: the reader sees no traces. */
  turnId: string | null;
  onChooseTurn: ((turnId: string) => void) | null;
}

/** The messages of a conversation, oldest first; those before them on demand. */
export function ThreadMessages({ thread, person, agent, foundId, firstShownId, turnId, onChooseTurn }: ThreadProps) {
  const frame = useRef<HTMLDivElement>(null);
  const messages = thread.data?.messages ?? [];
  useScrollPosition(frame, messages, firstShownId);
  const isMissing = foundId !== null && thread.data && !messages.some(({ id }) => id === foundId);
  const replied = new Set(
    messages.filter(({ direction }) => direction === "outbound").map((message) => message.turn_id),
  );
  return (
    <div class="thread" ref={frame}>
      <Notice problem={thread.problem} />
      {isMissing && (
        <p class="notice info">
          This conversation has no message of this address: it was erased, or the address is wrong. You see all the
          others.
        </p>
      )}
      {thread.data?.hasOlder && (
        <p class="load-more">
          <Button onClick={thread.loadOlder} disabled={thread.isLoading}>
            {thread.isLoading ? "Loading …" : "Show older messages"}
          </Button>
        </p>
      )}
      {!messages.length && <EmptyState icon="chat" title="No messages yet" />}
      {messages.map((message) => (
        <ThreadMessage
          key={message.id}
          message={message}
          author={message.direction === "inbound" ? person : message.answered_by || agent}
          isFound={message.id === foundId}
          isChosen={message.turn_id !== null && message.turn_id === turnId}
          onChoose={
            message.turn_id && (message.direction === "outbound" || !replied.has(message.turn_id)) ? onChooseTurn : null
          }
        />
      ))}
    </div>
  );
}

/** Show the asked message first, else the newest; keep the place when older messages come in above it. */
function useScrollPosition(
  frame: { current: HTMLDivElement | null },
  messages: readonly Message[],
  askedId: string | null,
) {
  const before = useRef({ first: "", height: 0, shown: "" });
  const first = messages[0]?.id ?? "";
  const shown = askedId ?? messages.at(-1)?.id ?? "";
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element || !first) return;
    const was = before.current;
    if (was.shown !== shown) {
      const target = element.querySelector(`[data-message="${CSS.escape(shown)}"]`);
      target?.scrollIntoView({ block: askedId ? "center" : "nearest" });
    } else if (was.first !== first) element.scrollTop += element.scrollHeight - was.height;
    before.current = { first, height: element.scrollHeight, shown };
  }, [frame, first, shown, askedId, messages.length]);
}

interface MessageProps {
  message: Message;
  author: string;
  isFound: boolean;
  isChosen: boolean;
  onChoose: ((turnId: string) => void) | null;
}

function ThreadMessage({ message, author, isFound, isChosen, onChoose }: MessageProps) {
  const { id, direction, text, at, citations, attachments, turn_id: turnId } = message;
  const isReply = direction === "outbound";
  const name = ["message", direction, isFound ? "found" : "", isChosen ? "chosen" : ""].filter(Boolean).join(" ");
  return (
    <article
      class={name}
      data-message={id}
      aria-label={`${author}${isFound ? ", the message that you looked for" : ""}`}
    >
      <header>
        <b>{author}</b>
        <span class="soft">
          <Time at={at} />
        </span>
      </header>
      {isReply ? (
        <CitedText text={text} citations={citations} hasSources />
      ) : (
        text && <p class="message-text">{text}</p>
      )}
      {message.is_stopped && <p class="soft">Stopped here, before the reply was complete.</p>}
      {!text && !message.is_stopped && !attachments?.length && (
        <p class="soft">This message has no text. It was erased, or had none.</p>
      )}
      {attachments && attachments.length > 0 && <Attachments attachments={attachments} />}
      {onChoose && turnId && (
        <Button kind="link" aria-pressed={isChosen} onClick={() => onChoose(turnId)}>
          {isReply ? "Why this reply?" : "What happened?"}
        </Button>
      )}
    </article>
  );
}

function Attachments({ attachments }: { attachments: NonNullable<Message["attachments"]> }) {
  return (
    <ul class="message-attachments" aria-label="Attachments">
      {attachments.map((attachment) => (
        <li key={attachment.name}>
          <Icon name={attachment.kind === "image" ? "image" : "file"} />
          {attachment.name || (attachment.kind === "image" ? "Image" : "File")}
          <span class="soft">{bytes(attachment.size_bytes)}</span>
        </li>
      ))}
    </ul>
  );
}
