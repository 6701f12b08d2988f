import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { route, setQuery, to, toRecord } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { sentenceCase } from "../../ui/format";
import { usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Time } from "../../ui/Time";
import { intervalOf, periodOf } from "../conversations/period";
import { CHANGE_VERBS, changedValue } from "../conversations/trace/change_words";
import { UndoTurn } from "../conversations/trace/UndoTurn";

type Change = Schema["ChangeView"];

/** The periods to choose from, by the address. */
const PERIODS = [
  ["", "Any time"],
  ["today", "Today"],
  ["yesterday", "Yesterday"],
  ["week", "Last 7 days"],
] as const;

/** What agents and people changed in records, newest first; what an agent did can be undone. */
export function RecordChanges() {
  const { query } = route.value;
  const period = periodOf(query);
  const record = query.get("record") ?? "";
  const changes = usePages(
    async (cursor, signal) => {
      const wanted = { ...intervalOf(query, new Date()), ...(record ? { record } : {}), cursor };
      const page = await body(api.GET("/v1/changes", { params: { query: wanted }, signal }));
      return { items: page.changes, next_cursor: page.next_cursor };
    },
    [period, record],
  );
  return (
    <>
      <div class="filters">
        <label>
          <span class="visually-hidden">Period</span>
          <select value={period} onChange={(event) => setQuery({ period: event.currentTarget.value })}>
            {PERIODS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {record && (
          <p>
            Only {record}. <a href={to(["insights", "changes"], { period })}>Show all records</a>
          </p>
        )}
      </div>
      <Loaded of={changes}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState icon="pen" title="No changes in this period">
              <p>What agents change in records appears here, and what people delete or accept.</p>
            </EmptyState>
          ) : (
            <ul class="insights-changes">
              {list.map((change) => (
                <li key={change.id} class="card">
                  <ChangeItem change={change} onUndone={changes.reload} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <LoadMore pages={changes} />
    </>
  );
}

function ChangeItem({ change, onUndone }: { change: Change; onUndone: () => void }) {
  return (
    <>
      <header>
        <h2>
          {CHANGE_VERBS[change.action]}:{" "}
          {change.is_deleted ? change.record.name : <a href={toRecord(change.record.handle)}>{change.record.name}</a>}
        </h2>
        {change.undone_at && <Badge>Undone</Badge>}
        <Time at={change.at} />
      </header>
      {change.relation && (
        <p>
          {sentenceCase(change.relation)} {change.other?.name ?? "a record that you may not see"}
        </p>
      )}
      {change.properties.length > 0 && (
        <dl class="insights-properties">
          {change.properties.map(({ property, before, after }) => (
            <div key={property}>
              <dt>{sentenceCase(property)}</dt>
              <dd>
                <del>{changedValue(property, before)}</del> → <ins>{changedValue(property, after)}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <footer class="buttons">
        <span class="soft">{author(change)}</span>
        {change.session_id && (
          <a href={to(["conversations", change.session_id], { turn: change.turn_id })}>In this conversation</a>
        )}
        {change.can_undo && change.turn_id && <UndoTurn turnId={change.turn_id} onUndone={onUndone} />}
      </footer>
    </>
  );
}

/** "Site desk, for Rosa": the agent that made a change, and the person it talked to; else the person who made it. */
function author({ agent_name: agent, by_name: person, by }: Change): string {
  if (agent) return person ? `${agent}, for ${person}` : agent;
  return person || sentenceCase(by.split(":")[0] ?? "");
}
