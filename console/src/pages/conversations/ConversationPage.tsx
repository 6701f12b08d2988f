import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { ConversationApprovals } from "../../approvals/ConversationApprovals";
import { setQuery, to, toRecord, type Route } from "../../shell/router";
import { Button, LinkButton } from "../../ui/Button";
import { dollars, plural } from "../../ui/format";
import { Page } from "../../ui/Page";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded, Notice } from "../../ui/states";
import { isId } from "./address_ids";
import { StateBadge } from "./ConversationListPage";
import { channelName, conversationTitle, isInInbox, personName } from "./state_words";
import { findTarget, turnOf, useThread, type Target, type Thread } from "./thread";
import { ThreadMessages } from "./ThreadMessages";
import { TurnTrace } from "./TurnTrace";

type Conversation = Schema["ConversationView"];

/** How often a conversation that is being answered is read again. */
const POLL_MS = 2_500;

/** Where the panes are not beside each other; conversations.css has the same width. */
const NARROW = "(max-width: 1100px)";

const BACK = { href: to(["conversations"]), label: "All conversations" };

/** One conversation: its messages beside the trace of one turn, which the address names. */
export function ConversationPage({ sessionId, route }: { sessionId: string; route: Route }) {
  const path = { session_id: sessionId };
  const asked = idOf(route, "turn");
  // Choosing another turn changes the address, and must not read the messages again.
  const [firstTurnId] = useState(asked);
  const target = { messageId: idOf(route, "message"), turnId: firstTurnId };
  const conversation = useResource(
    (signal) => body(api.GET("/v1/conversations/{session_id}", { params: { path }, signal })),
    [sessionId],
  );
  const thread = useThread(sessionId, target);
  const [round, setRound] = useState(0);
  const reload = () => (conversation.reload(), thread.reload());
  useEffect(() => {
    if (conversation.data?.last_turn_state !== "running") return undefined;
    const timer = setTimeout(reload, POLL_MS);
    return () => clearTimeout(timer);
  });
  const found = conversation.data;
  if (!found) {
    return (
      <Page title="Conversation" back={BACK}>
        <Loaded of={conversation} rows={8}>
          {() => null}
        </Loaded>
      </Page>
    );
  }
  const turnId = turnOf(thread.data?.messages ?? [], asked, target.messageId);
  const refresh = () => (reload(), setRound(round + 1));
  return (
    <Page
      title={conversationTitle(found)}
      back={BACK}
      lead={<Lead conversation={found} />}
      actions={<Actions conversation={found} onRefresh={refresh} isLoading={thread.isLoading} />}
    >
      <Notice problem={conversation.problem} />
      <ConversationApprovals sessionId={sessionId} round={thread.data} onAnswered={reload} showsClosed />
      <Loaded of={thread} rows={8}>
        {() => (
          <ThreadAndTrace
            conversation={found}
            thread={thread}
            target={target}
            turnId={turnId}
            round={round}
            onChanged={reload}
          />
        )}
      </Loaded>
    </Page>
  );
}

function idOf({ query }: Route, name: string): string | null {
  const text = query.get(name);
  return isId(text) ? text : null;
}

function Actions({
  conversation,
  onRefresh,
  isLoading,
}: {
  conversation: Conversation;
  onRefresh: () => void;
  isLoading: boolean;
}) {
  return (
    <>
      <StateBadge conversation={conversation} />
      {(conversation.attention_count > 0 || isInInbox(conversation)) && (
        <LinkButton href={to(["inbox"])} icon="inbox">
          Open the inbox
        </LinkButton>
      )}
      <Button icon="refresh" onClick={onRefresh} disabled={isLoading}>
        Refresh
      </Button>
    </>
  );
}

const READERS: Partial<Record<Conversation["visibility"], string>> = {
  role_gated: "its user lets editors read it",
  shared: "its user lets all members read it",
};

function Lead({ conversation }: { conversation: Conversation }) {
  const { person, agent, channel, entity, cost_usd: cost, turn_count: turns, visibility } = conversation;
  return (
    <>
      <a href={to(["people", person.id])}>{personName(person)}</a> with {agent.name} on {channelName(channel)}
      {entity && (
        <>
          {" "}
          about <a href={toRecord(entity.handle)}>{entity.name}</a>
        </>
      )}
      {" · "}
      {plural(turns, "turn")} · {dollars(cost)} in all
      {READERS[visibility] && ` · ${READERS[visibility]}`}
    </>
  );
}

interface PanesProps {
  conversation: Conversation;
  thread: Thread;
  target: Target;
  turnId: string | null;
  round: number;
  onChanged: () => void;
}

/** Both panes beside each other; on narrow windows one of them. */
function ThreadAndTrace({ conversation, thread, target, turnId, round, onChanged }: PanesProps) {
  const [pane, setPane] = useState<"thread" | "trace">("thread");
  const top = useRef<HTMLDivElement>(null);
  const choose = (id: string) => {
    setQuery({ turn: id });
    setPane("trace");
  };
  useEffect(() => {
    if (pane === "trace" && matchMedia(NARROW).matches) top.current?.scrollIntoView();
  }, [pane]);
  return (
    <>
      <div class="panes-switch" role="group" aria-label="What to show" ref={top}>
        <Button aria-pressed={pane === "thread"} onClick={() => setPane("thread")}>
          Messages
        </Button>
        <Button aria-pressed={pane === "trace"} onClick={() => setPane("trace")}>
          Trace of the turn
        </Button>
      </div>
      <div class={`panes show-${pane}`}>
        <section class="pane-thread" aria-label="Messages">
          <ThreadMessages
            thread={thread}
            person={personName(conversation.person)}
            agent={conversation.agent.name}
            foundId={target.messageId}
            firstShownId={findTarget(thread.data?.messages ?? [], target)?.id ?? null}
            turnId={turnId}
            onChooseTurn={choose}
          />
        </section>
        <section class="pane-trace" aria-label="Trace of the chosen turn">
          {turnId ? (
            <TurnTrace key={turnId} turnId={turnId} round={round} onChanged={onChanged} />
          ) : (
            <EmptyState icon="pulse" title="No turn yet">
              {conversation.last_turn_state === "running"
                ? "The first reply is on its way."
                : "The trace appears with the first reply."}
            </EmptyState>
          )}
        </section>
      </div>
    </>
  );
}
