import { useEffect, useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { setQuery, to, type Route } from "../../../shell/router";
import { plural } from "../../../ui/format";
import { Page } from "../../../ui/Page";
import { usePages } from "../../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../../ui/states";
import { Table, type Column } from "../../../ui/Table";
import { Time } from "../../../ui/Time";
import { SectionTabs } from "../SectionTabs";
import { channelName, personName } from "../state_words";
import "./people.css";
import { SharedFacts } from "./SharedFacts";

type Person = Schema["UserListItemView"];

/** Who talks to the agents, and how much is remembered of each. */
export function PeoplePage({ route }: { route: Route }) {
  const text = route.query.get("text") ?? "";
  const people = usePages(
    async (cursor, signal) => {
      const page = await body(api.GET("/v1/users", { params: { query: { text, cursor } }, signal }));
      return { items: page.users, next_cursor: page.next_cursor };
    },
    [text],
  );
  return (
    <Page title="People" lead="Who talks to the agents, and what the agents remember of them.">
      <SectionTabs current="people" />
      <Search text={text} />
      <Loaded of={people}>
        {(found) =>
          found.length ? (
            <Table
              caption="People, latest active first"
              columns={COLUMNS}
              rows={found}
              rowKey={(person) => person.id}
            />
          ) : (
            <EmptyState icon="people" title={text ? "Nobody matches" : "Nobody yet"}>
              {text ? <a href={to(["people"])}>Show everybody</a> : "People appear here when they write to an agent."}
            </EmptyState>
          )
        }
      </Loaded>
      <LoadMore pages={people} />
      <SharedFacts />
    </Page>
  );
}

const COLUMNS: readonly Column<Person>[] = [
  {
    label: "Person",
    cell: (person) => (
      <div class="conversations-name">
        <a href={to(["people", person.id])}>{personName(person)}</a>
        {person.name && person.phone_last_digits && (
          <span class="soft">Number ending in {person.phone_last_digits}</span>
        )}
        <span class="soft conversations-narrow">
          {plural(person.session_count, "conversation")} · <Time at={person.last_active_at} />
        </span>
      </div>
    ),
  },
  { label: "Channels", cell: (person) => person.channels.map(channelName).join(", "), isSecondary: true },
  { label: "Conversations", cell: (person) => person.session_count, isNumber: true, isSecondary: true },
  { label: "Remembered", cell: rememberedWords },
  { label: "Last active", cell: (person) => <Time at={person.last_active_at} />, isSecondary: true },
];

function rememberedWords({ fact_count: facts, episode_count: episodes }: Person): string {
  return (
    [facts ? plural(facts, "fact") : "", episodes ? plural(episodes, "event") : ""].filter(Boolean).join(", ") ||
    "Nothing"
  );
}

function Search({ text }: { text: string }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed.trim() === text) return undefined;
    const timer = setTimeout(() => setQuery({ text: typed.trim() }), 350);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <form
      class="filters conversations-filters"
      role="search"
      aria-label="Find a person"
      onSubmit={(event) => event.preventDefault()}
    >
      <label class="conversations-text">
        <span class="soft">Name or last digits of the number</span>
        <input
          type="search"
          value={typed}
          maxLength={200}
          autoComplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
    </form>
  );
}
