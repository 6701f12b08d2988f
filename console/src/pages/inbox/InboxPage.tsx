import { useEffect, useState } from "preact/hooks";
import { ApprovalQueue } from "../../approvals/ApprovalQueue";
import { ownApprovals } from "../../approvals/open_approvals";
import { settings } from "../../shell/settings";
import { navigate, setQuery, to, type Route } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { plural } from "../../ui/format";
import { Page, Tabs } from "../../ui/Page";
import { usePages, useResource } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Time } from "../../ui/Time";
import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { AttentionItems } from "./AttentionItems";
import { openCount, refreshAttention } from "./attention";
import { KeyHelp } from "./KeyHelp";
import {
  LISTS,
  REASONS,
  refreshThreadCounts,
  threadCounts,
  waitingCount,
  type InboxThread,
  type ListName,
} from "./threads";
import { useKeys } from "./use_keys";

/** Milliseconds between two reads of the list. */
const POLL_MS = 5_000;

/** The conversations that people answer, and the items that a person decides. */
export function InboxPage({ route }: { route: Route }) {
  const asked = route.query.get("list");
  const list = asked ?? "waiting";
  const binding = route.query.get("binding") ?? "";
  const [message, setMessage] = useState("");
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [round, setRound] = useState(0);
  useKeys({ "?": () => setHelpOpen(true) });
  const waiting = waitingCount.value;
  const names = Object.keys(LISTS) as ListName[];
  return (
    <Page
      title="Inbox"
      lead={[
        waiting ? `${plural(waiting, "conversation waits", "conversations wait")} for a person.` : "",
        openCount.value ? `${plural(openCount.value, "item needs", "items need")} a decision.` : "",
        !waiting && !openCount.value ? "Nothing waits for a person." : "",
      ]
        .filter(Boolean)
        .join(" ")}
      actions={
        <>
          <Button onClick={() => setHelpOpen(true)}>Keys</Button>
          <Button
            icon="refresh"
            onClick={() => {
              void refreshAttention();
              void refreshThreadCounts();
              setRound(round + 1);
            }}
          >
            Refresh
          </Button>
        </>
      }
    >
      <p class="inbox-message" role="status">
        {message}
      </p>
      <Tabs
        label="Lists of the inbox"
        tabs={[
          ...names.map((name) => ({
            href: to(["inbox"], { list: name, binding }),
            label: withCount(LISTS[name].label, countOf(name)),
            isCurrent: name === list,
          })),
          {
            href: to(["inbox"], { list: "items" }),
            label: withCount("Other", openCount.value),
            isCurrent: list === "items",
          },
        ]}
      />
      {(list === "items" || asked === null) && <ApprovalQueue onDone={setMessage} />}
      {list !== "items" && (
        <>
          <BindingFilter binding={binding} />
          <ThreadList
            key={list + binding}
            name={list in LISTS ? (list as ListName) : "waiting"}
            binding={binding}
            round={round}
            isBrief={asked === null && openCount.value > 0}
          />
        </>
      )}
      {(list === "items" || asked === null) && (
        <AttentionItems
          kind={route.query.get("kind") ?? ""}
          onDone={setMessage}
          isAlone={list === "items" && !ownApprovals.value.length}
        />
      )}
      {isHelpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
    </Page>
  );
}

function withCount(label: string, count: number): string {
  return count ? `${label} ${count}` : label;
}

function countOf(name: ListName): number {
  if (name === "waiting") return waitingCount.value;
  const counts = threadCounts.value;
  return counts && name !== "done" ? counts[name] : 0;
}

/** Chooses the agent whose conversations are listed; nothing where there is only one. */
function BindingFilter({ binding }: { binding: string }) {
  const agents = useResource(async (signal) => (await body(api.GET("/v1/bindings", { signal }))).bindings, []);
  if ((agents.data?.length ?? 0) < 2) return null;
  return (
    <label class="inbox-filter">
      <span class="soft">Agent</span>
      <select value={binding} onChange={(event) => setQuery({ binding: event.currentTarget.value })}>
        <option value="">All</option>
        {agents.data?.map((agent) => (
          <option key={agent.slug} value={agent.slug}>
            {agent.display_name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ThreadListProps {
  name: ListName;
  binding: string;
  /** A number that grows when the list is to be read again. */
  round: number;
  /** Whether an empty list takes one line, because decisions follow below it. */
  isBrief: boolean;
}

function ThreadList({ name, binding, round, isBrief }: ThreadListProps) {
  const threads = usePages(
    async (cursor, signal) => {
      const page = await body(
        api.GET("/v1/inbox", { params: { query: { ...LISTS[name].query, binding, cursor } }, signal }),
      );
      return { items: page.conversations, next_cursor: page.next_cursor };
    },
    [name, binding, round],
  );
  const { reload } = threads;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const rows = threads.data ?? [];
  const [chosenId, setChosenId] = useState("");
  const at = rows.findIndex((thread) => thread.session_id === chosenId);
  const move = (step: number) => {
    const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
    if (!next) return;
    setChosenId(next.session_id);
    document.getElementById(`thread-${next.session_id}`)?.focus();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => chosenId && navigate(to(["inbox", chosenId])),
  });
  return (
    <Loaded of={threads}>
      {(list) =>
        list.length === 0 && isBrief ? (
          <p class="soft">No conversation waits.</p>
        ) : list.length === 0 ? (
          <EmptyState icon="inbox" title={name === "waiting" ? "Nobody waits" : "No conversation here"}>
            <p>
              Agents answer by themselves. A conversation comes here when somebody asks for a person, or when the agent
              cannot go on alone. All others are in <a href={to(["conversations"])}>Conversations</a>.
            </p>
            {settings.value?.local && (
              <p>
                To talk to an agent, open the <a href={to(["playground"])}>Playground</a>.
              </p>
            )}
          </EmptyState>
        ) : (
          <>
            <ul class="inbox-threads">
              {list.map((thread) => (
                <li key={thread.session_id}>
                  <ThreadRow thread={thread} />
                </li>
              ))}
            </ul>
            <LoadMore pages={threads} />
          </>
        )
      }
    </Loaded>
  );
}

function ThreadRow({ thread }: { thread: InboxThread }) {
  const { session_id: id, assignee_name: assignee, last_message: last } = thread;
  return (
    <a id={`thread-${id}`} class="inbox-thread" href={to(["inbox", id])}>
      <span class="inbox-thread-head">
        <b>{thread.title || "Conversation"}</b>
        <Time at={last?.at ?? thread.opened_at} />
      </span>
      <span class="inbox-thread-text">{last?.text || "No message yet"}</span>
      <span class="inbox-thread-facts">
        <Badge tone={thread.state === "waiting" ? "warning" : "neutral"}>{REASONS[thread.reason]}</Badge>
        {thread.undecided_count > 0 && (
          <Badge tone="bad">{plural(thread.undecided_count, "decision", "decisions")}</Badge>
        )}
        {thread.priority > 0 && <Badge tone="bad">Waited too long</Badge>}
        <span class="soft">{thread.binding_name}</span>
        {assignee && <span class="soft">{assignee}</span>}
        {thread.snoozed_until && (
          <span class="soft">
            until <Time at={thread.snoozed_until} />
          </span>
        )}
      </span>
    </a>
  );
}
