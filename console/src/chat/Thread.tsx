import { useSignalEffect } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApprovalCard } from "../approvals/ApprovalCard";
import type { Approval } from "../approvals/approval";
import { Button } from "../ui/Button";
import { useAction } from "../ui/resource";
import { Notice, Skeleton } from "../ui/states";
import type { Agent } from "./agent";
import type { ChatStore } from "./chat_store";
import type { Conversation } from "./conversation";
import { Reply, SentMessage, type Entry } from "./entries";
import { ReplyArticle } from "./ReplyArticle";
import { SentBubble } from "./SentBubble";
import { Welcome } from "./Welcome";

/** Pixels from the end within which the thread follows what is added. */
const NEAR_END = 60;

interface ThreadProps {
  store: ChatStore;
  conversation: Conversation;
  agent: Agent;
}

/** The messages. New text is followed only while the reader is at the end. */
export function Thread({ store, conversation, agent }: ThreadProps) {
  const log = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const entries = conversation.entries.value;

  const toEnd = () => {
    isAtEnd.current = true;
    setAway(false);
    if (log.current) log.current.scrollTop = log.current.scrollHeight;
  };
  const onScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = log.current ?? {};
    if (!clientHeight) return;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
    setAway(!isAtEnd.current);
  };
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current && log.current) log.current.scrollTop = log.current.scrollHeight;
    });
    for (const element of [log.current, content.current]) if (element) observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useSignalEffect(() => {
    const last = conversation.entries.value.findLast((entry) => entry instanceof SentMessage);
    if (last?.state.peek() === "sending") toEnd();
  });
  const loadEarlier = useAction(async () => {
    const before = log.current?.scrollHeight ?? 0;
    await conversation.loadEarlier();
    requestAnimationFrame(() => {
      if (log.current) log.current.scrollTop += log.current.scrollHeight - before;
    });
  });

  return (
    <div class="chat-thread">
      <div
        ref={log}
        class="chat-log"
        role="log"
        aria-label="Conversation"
        aria-live="polite"
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a keyboard must reach what scrolls
        tabIndex={0}
        onScroll={onScroll}
      >
        <div ref={content} class="chat-entries">
          {conversation.isLoading.value && !entries.length && <Skeleton rows={4} />}
          {!conversation.isLoading.value && !entries.length && (
            <Welcome agent={agent} onPick={(text) => conversation.send(text)} />
          )}
          {conversation.earlier.value && (
            <p class="chat-earlier">
              <Notice problem={loadEarlier.problem} />
              <Button onClick={loadEarlier.run} disabled={loadEarlier.isRunning}>
                Show earlier messages
              </Button>
            </p>
          )}
          {withApprovals(entries, conversation.approvals.value).map((entry) =>
            entry instanceof SentMessage ? (
              <SentBubble key={entry.key} message={entry} store={store} conversation={conversation} />
            ) : entry instanceof Reply ? (
              <Fragment key={entry.key}>
                <AuthorChange reply={entry} before={replyBefore(entries, entry)} />
                <ReplyArticle reply={entry} name={agent.name} />
              </Fragment>
            ) : (
              <ApprovalCard
                key={entry.id}
                approval={entry}
                by={entry.approver === "user" ? "you" : "our team"}
                onAnswer={(answer) => conversation.answer(entry, answer)}
              />
            ),
          )}
        </div>
      </div>
      {isAway && (
        <Button class="chat-to-end" icon="chevronDown" aria-label="Go to the newest message" onClick={toEnd} />
      )}
    </div>
  );
}

/** A line where another desk or person answers than before. */
function AuthorChange({ reply, before }: { reply: Reply; before: Reply | undefined }) {
  const [author, earlier] = [reply.author.value, before?.author.value];
  return author && earlier && author !== earlier ? <p class="chat-author-change">{author} answers now</p> : null;
}

function replyBefore(entries: readonly Entry[], reply: Reply): Reply | undefined {
  const replies = entries.filter((entry) => entry instanceof Reply);
  return replies[replies.indexOf(reply) - 1];
}

/** Return the entries with each question below the reply that asked it; one that no reply asked yet is the last. */
function withApprovals(entries: readonly Entry[], approvals: readonly Approval[]): (Entry | Approval)[] {
  const left = [...approvals];
  const merged = entries.flatMap((entry) => {
    const at = entry instanceof Reply ? entry.at.value : null;
    const asked = at ? left.filter(({ created_at: asked }) => Date.parse(asked) <= Date.parse(at)) : [];
    left.splice(0, asked.length);
    return [entry, ...asked];
  });
  return [...merged, ...left];
}
