import { useEffect, useRef, useState } from "preact/hooks";
import { body } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { ConversationApprovals } from "../../approvals/ConversationApprovals";
import { navigate, to } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { Button, LinkButton } from "../../ui/Button";
import { Page } from "../../ui/Page";
import { useAction, useResource } from "../../ui/resource";
import { Loaded, Notice } from "../../ui/states";
import { Time } from "../../ui/Time";
import { channelName } from "../conversations/state_words";
import { useThread } from "../conversations/thread";
import { ThreadMessages } from "../conversations/ThreadMessages";
import { ItemCards } from "./AttentionItems";
import { isDecidedThere } from "./attention";
import { KeyHelp } from "./KeyHelp";
import { HandBack, Snooze, Transfer } from "./MoveDialogs";
import { ReplyBox } from "./ReplyBox";
import { ThreadContext } from "./ThreadContext";
import { refreshThreadCounts, type InboxThread } from "./threads";
import { useKeys } from "./use_keys";

/** Milliseconds between two reads of an open conversation. */
const POLL_MS = 3_000;

const BACK = { href: to(["inbox"]), label: "The inbox" };

/** One conversation of the inbox: its messages, why it is here, and the reply box of the person who has it. */
export function ThreadPage({ sessionId }: { sessionId: string }) {
  const path = { session_id: sessionId };
  const found = useResource(
    (signal) => body(api.GET("/v1/inbox/{session_id}", { params: { path }, signal })),
    [sessionId],
  );
  const messages = useThread(sessionId, { messageId: null, turnId: null });
  const reload = () => {
    found.reload();
    messages.reload();
    void refreshThreadCounts();
  };
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const thread = found.data;
  if (!thread) {
    return (
      <Page title="Conversation" back={BACK}>
        <Loaded of={found} rows={8}>
          {() => null}
        </Loaded>
      </Page>
    );
  }
  return (
    <Page
      title={thread.title || "Conversation"}
      back={BACK}
      lead={
        <>
          <a href={to(["people", thread.user_id])}>{thread.user_name ?? "Visitor"}</a> with {thread.binding_name} on{" "}
          {channelName(thread.channel)}
        </>
      }
      actions={
        <LinkButton icon="chat" href={to(["conversations", sessionId])}>
          All details
        </LinkButton>
      }
    >
      <Notice problem={found.problem} />
      <ConversationApprovals sessionId={sessionId} round={thread} onAnswered={reload} />
      <div class="inbox-panes">
        <section class="inbox-pane" aria-label="Messages">
          <Loaded of={messages} rows={8}>
            {() => (
              <ThreadMessages
                thread={messages}
                person={thread.user_name ?? "Visitor"}
                agent={thread.binding_name}
                foundId={null}
                firstShownId={null}
                turnId={null}
                onChooseTurn={null}
              />
            )}
          </Loaded>
          <Decisions thread={thread} onDecided={reload} />
          <Answering thread={thread} onMoved={reload} />
        </section>
        <ThreadContext thread={thread} />
      </div>
    </Page>
  );
}

/** What a person has to decide in the conversation: unknown outcomes, replies that were not sent, failed turns. */
function Decisions({ thread, onDecided }: { thread: InboxThread; onDecided: () => void }) {
  const [message, setMessage] = useState("");
  const items = useResource(
    async (signal) => {
      if (!thread.undecided_count) return [];
      const query = { session_id: thread.session_id };
      return (await body(api.GET("/v1/attention", { params: { query }, signal }))).items.filter(isDecidedThere);
    },
    [thread.session_id, thread.undecided_count],
  );
  return (
    <>
      <p class="inbox-message" role="status">
        {message}
      </p>
      <Notice problem={items.problem} />
      {items.data && items.data.length > 0 && (
        <section aria-label="To decide">
          <ItemCards
            items={items.data}
            onDone={(told) => {
              setMessage(told);
              items.reload();
              onDecided();
            }}
          />
        </section>
      )}
    </>
  );
}

type Move = "take" | "release" | "close";

/** What the reader can do with the conversation now. */
function Answering({ thread, onMoved }: { thread: InboxThread; onMoved: () => void }) {
  const [opened, setOpened] = useState<"hand_back" | "snooze" | "transfer" | "keys" | null>(null);
  const params = { path: { session_id: thread.session_id } };
  const move = useAction(async (name: Move | "open") => {
    if (name === "open") await body(api.POST("/v1/inbox/{session_id}/open", { params, body: { text: "" } }));
    if (name === "take") await body(api.POST("/v1/inbox/{session_id}/take", { params }));
    if (name === "release") await body(api.POST("/v1/inbox/{session_id}/release", { params }));
    if (name === "close") await body(api.POST("/v1/inbox/{session_id}/close", { params }));
    onMoved();
  });
  const isHeld = ["waiting", "person", "snoozed"].includes(thread.state);
  const isMine = thread.state === "person" && thread.is_mine;
  const mayAnswer = hasRole("viewer") && hasRole("editor");
  const focusOn = (key: string) => document.querySelector<HTMLElement>(`[data-focus-key="${key}"]`)?.focus();
  useKeys({
    "?": () => setOpened("keys"),
    u: () => navigate(to(["inbox"])),
    t: () => isHeld && !isMine && mayAnswer && move.run("take"),
    r: () => focusOn("r"),
    n: () => focusOn("n"),
    h: () => isHeld && mayAnswer && setOpened("hand_back"),
    e: () => isHeld && mayAnswer && move.run("close"),
  });
  return (
    <div class="inbox-answering">
      <p class="inbox-state" role="status">
        <StateBadge thread={thread} />
      </p>
      {!mayAnswer && <p class="soft">You need the roles viewer and editor to answer.</p>}
      <Notice problem={move.problem} />
      {isMine && <ReplyBox thread={thread} onSaid={onMoved} />}
      {mayAnswer && (
        <div class="buttons">
          {isHeld && !isMine && (
            <Button kind="solid" disabled={move.isRunning} onClick={() => move.run("take")}>
              Take
            </Button>
          )}
          {!isHeld && (
            <Button kind="solid" disabled={move.isRunning} onClick={() => move.run("open")}>
              Answer it yourself
            </Button>
          )}
          {isHeld && <Button onClick={() => setOpened("hand_back")}>Hand back</Button>}
          {isHeld && <Button onClick={() => setOpened("transfer")}>Transfer</Button>}
          {isMine && (
            <Button disabled={move.isRunning} onClick={() => move.run("release")}>
              Release
            </Button>
          )}
          {isHeld && <Button onClick={() => setOpened("snooze")}>Snooze</Button>}
          {isHeld && (
            <Button disabled={move.isRunning} onClick={() => move.run("close")}>
              Done
            </Button>
          )}
          <Button onClick={() => setOpened("keys")}>Keys</Button>
        </div>
      )}
      {opened === "hand_back" && <HandBack thread={thread} onClose={() => setOpened(null)} onMoved={onMoved} />}
      {opened === "snooze" && <Snooze thread={thread} onClose={() => setOpened(null)} onMoved={onMoved} />}
      {opened === "transfer" && <Transfer thread={thread} onClose={() => setOpened(null)} onMoved={onMoved} />}
      {opened === "keys" && <KeyHelp onClose={() => setOpened(null)} />}
    </div>
  );
}

function StateBadge({ thread }: { thread: InboxThread }) {
  const { state, assignee_name: name, is_mine: isMine } = thread;
  if (state === "waiting") return <Badge tone="warning">Waits for a person</Badge>;
  if (state === "person") return <Badge tone="good">{isMine ? "You have it" : `${name ?? "Somebody"} has it`}</Badge>;
  if (state === "snoozed") {
    return <Badge tone="neutral">Snoozed until {thread.snoozed_until && <Time at={thread.snoozed_until} />}</Badge>;
  }
  return <Badge tone="neutral">{state === "done" ? "Done" : "The agent answers"}</Badge>;
}
