import { useEffect, useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { setQuery, to, type Route } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { dollars } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Page } from "../../ui/Page";
import { usePages, useResource } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Table, type Column } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { intervalOf, periodOf, PERIODS } from "./period";
import { SectionTabs } from "./SectionTabs";
import { CHANNELS, channelName, conversationState, conversationTitle, personName, plainPreview } from "./state_words";

type Conversation = Schema["ConversationView"];

const STATES = {
  answered: "Answered",
  running: "Being answered",
  failed: "Something failed",
  waiting: "Waits for a person",
  waiting_for_user: "Waits for the user",
  with_person: "With a person, or snoozed",
  archived: "Archived",
} as const;

type State = keyof typeof STATES;

/** Questions that are asked every day, as one click each. */
const QUICK: readonly { label: string; query: Record<string, string> }[] = [
  { label: "All", query: {} },
  { label: "Failed today", query: { state: "failed", period: "today" } },
  { label: "Waits for a person", query: { state: "waiting" } },
  { label: "Being answered", query: { state: "running" } },
];

/** All conversations of the tenant, newest activity first, with the filters of the address. */
export function ConversationListPage({ route }: { route: Route }) {
  const { query } = route;
  const filters = filtersOf(query);
  const pages = usePages((cursor, signal) => readPage(filters, query, cursor, signal), [query.toString()]);
  const isFiltered = query.size > 0;
  return (
    <Page
      title="Conversations"
      actions={
        <Button icon="refresh" onClick={pages.reload} disabled={pages.isLoading}>
          Refresh
        </Button>
      }
    >
      <SectionTabs current="conversations" />
      <QuickFilters query={query} />
      <Filters query={query} />
      <Loaded of={pages} rows={8}>
        {(conversations) =>
          conversations.length ? (
            <div class="conversations-list" aria-busy={pages.isLoading}>
              <Table
                caption="Conversations, newest activity first"
                columns={columns(filters.state === "failed")}
                rows={conversations}
                rowKey={(conversation) => conversation.id}
              />
            </div>
          ) : (
            <EmptyState icon="chat" title={isFiltered ? "No conversation matches" : "No conversations yet"}>
              {isFiltered ? (
                <a href={to(["conversations"])}>Show all conversations</a>
              ) : (
                "Conversations appear here as soon as somebody writes to an agent."
              )}
            </EmptyState>
          )
        }
      </Loaded>
      <LoadMore pages={pages} />
    </Page>
  );
}

interface ListFilters {
  text?: string;
  agent?: string;
  channel?: string;
  person?: string;
  record?: string;
  state?: State;
}

function filtersOf(query: URLSearchParams): ListFilters {
  const names = ["text", "agent", "channel", "person", "record"] as const;
  const given = Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
  const state = query.get("state") ?? "";
  return { ...given, ...(state in STATES ? { state: state as State } : {}) };
}

async function readPage(filters: ListFilters, query: URLSearchParams, cursor: string, signal: AbortSignal) {
  const asked = { ...filters, ...intervalOf(query, new Date()), cursor };
  const page = await body(api.GET("/v1/conversations", { params: { query: asked }, signal }));
  return { items: page.conversations, next_cursor: page.next_cursor };
}

function QuickFilters({ query }: { query: URLSearchParams }) {
  return (
    <nav class="conversations-quick" aria-label="Frequent questions">
      {QUICK.map((quick) => (
        <a
          key={quick.label}
          class="button"
          href={to(["conversations"], quick.query)}
          aria-current={new URLSearchParams(quick.query).toString() === query.toString() ? "true" : undefined}
        >
          {quick.label}
        </a>
      ))}
    </nav>
  );
}

function Filters({ query }: { query: URLSearchParams }) {
  const agents = useResource(async (signal) => (await body(api.GET("/v1/bindings", { signal }))).bindings, []);
  const period = periodOf(query);
  const changePeriod = (next: string) =>
    setQuery({ period: next, since: null, until: null, ...(next === "dates" ? { since: today() } : {}) });
  return (
    <form
      class="filters conversations-filters"
      role="search"
      aria-label="Filter conversations"
      onSubmit={(event) => event.preventDefault()}
    >
      <TextFilter text={query.get("text") ?? ""} />
      <Choice
        label="Agent"
        value={query.get("agent") ?? ""}
        options={Object.fromEntries((agents.data ?? []).map((agent) => [agent.slug, agent.display_name]))}
        onChange={(agent) => setQuery({ agent })}
      />
      <Choice
        label="Channel"
        value={query.get("channel") ?? ""}
        options={CHANNELS}
        onChange={(channel) => setQuery({ channel })}
      />
      <Choice
        label="State"
        value={query.get("state") ?? ""}
        options={STATES}
        onChange={(state) => setQuery({ state })}
      />
      <label>
        <span class="soft">{query.get("state") === "failed" ? "Failed" : "Last active"}</span>
        <select value={period} onChange={(event) => changePeriod(event.currentTarget.value)}>
          {Object.entries(PERIODS).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {period === "dates" && (
        <>
          <DateFilter name="since" label="From" value={query.get("since") ?? ""} />
          <DateFilter name="until" label="To" value={query.get("until") ?? ""} />
        </>
      )}
    </form>
  );
}

/** The text to find; it goes to the address when the reader pauses. */
function TextFilter({ text }: { text: string }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed.trim() === text) return undefined;
    const timer = setTimeout(() => setQuery({ text: typed.trim() }), 350);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <label class="conversations-text">
      <span class="soft">Title, name or last digits</span>
      <input type="search" value={typed} maxLength={200} onInput={(event) => setTyped(event.currentTarget.value)} />
    </label>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: Readonly<Record<string, string>>;
  onChange: (value: string) => void;
}

/** A select whose first option is "all"; a value of the address that is no option stays visible. */
function Choice({ label, value, options, onChange }: ChoiceProps) {
  const shown = !value || value in options ? options : { ...options, [value]: value };
  return (
    <label>
      <span class="soft">{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">All</option>
        {Object.entries(shown).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function DateFilter({ name, label, value }: { name: "since" | "until"; label: string; value: string }) {
  return (
    <label>
      <span class="soft">{label}</span>
      <input
        type="date"
        value={value.slice(0, 10)}
        onChange={(event) => setQuery({ period: "dates", [name]: event.currentTarget.value })}
      />
    </label>
  );
}

function today(): string {
  const now = new Date();
  return `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}-${String(now.getDate()).padStart(2, "0")}`;
}

function columns(areFailed: boolean): readonly Column<Conversation>[] {
  return [
    {
      label: "Conversation",
      cell: (one) => (
        <div class="conversations-name">
          <a href={to(["conversations", one.id])}>{conversationTitle(one)}</a>
          <span class="soft">
            {personName(one.person)}
            {one.entity && ` · about ${one.entity.name}`}
          </span>
          <span class="soft conversations-narrow">
            {one.agent.name} · {channelName(one.channel)} · <Time at={one.last_active_at} />
          </span>
        </div>
      ),
    },
    { label: "Agent", cell: (one) => one.agent.name, isSecondary: true },
    { label: "Channel", cell: (one) => channelName(one.channel), isSecondary: true },
    {
      label: "Last message",
      cell: (one) => <span class="conversations-preview">{plainPreview(one.last_message_preview)}</span>,
      isSecondary: true,
    },
    { label: "State", cell: (one) => <StateBadge conversation={one} hasFailedTurn={areFailed} /> },
    { label: "Cost", cell: (one) => dollars(one.cost_usd), isNumber: true, isSecondary: true },
    { label: "Last activity", cell: (one) => <Time at={one.last_active_at} />, isSecondary: true },
  ];
}

/** The state of a conversation; failed and waiting ones have a sign besides their colour. */
export function StateBadge({
  conversation,
  hasFailedTurn = false,
}: {
  conversation: Conversation;
  hasFailedTurn?: boolean;
}) {
  const { tone, words } = conversationState(conversation, hasFailedTurn);
  return (
    <span class="conversations-state">
      <Badge tone={tone}>
        {(tone === "bad" || tone === "warning") && <Icon name="alert" />}
        {words}
      </Badge>
      {conversation.failed_tools.length > 0 && (
        <Badge tone="bad">
          <Icon name="alert" />
          {conversation.failed_tools.join(", ")} failed
        </Badge>
      )}
      {conversation.archived && <Badge>Archived by its user</Badge>}
    </span>
  );
}
