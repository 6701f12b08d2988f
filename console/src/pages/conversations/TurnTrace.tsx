import { useEffect } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { to } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { LinkButton } from "../../ui/Button";
import { count, dateTime, dollars, milliseconds, plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { Facts } from "../../ui/Table";
import { Time } from "../../ui/Time";
import "./conversations.css";
import { LAYERS, layerName } from "./prompt/prompt_words";
import { SourceList } from "./SourceList";
import { Bars } from "./trace/Bars";
import { RecordChanges } from "./trace/RecordChanges";
import { TracePart } from "./trace/TracePart";
import { ToolCalls } from "./trace/ToolCalls";
import { deliveryWords, problemWords, STAGES, turnState } from "./trace/turn_words";

type Turn = Schema["TurnView"];

interface TraceProps {
  turnId: string;
  /** A number that grows when the trace is to be read again. */
  round?: number;
  /** Called after an undo. */
  onChanged?: () => void;
}

/** How often a turn that is not finished is read again. */
const POLL_MS = 2_000;

/** What happened in one turn: why, from which sources, with which tools, how long it took and what it cost. */
export function TurnTrace({ turnId, round = 0, onChanged }: TraceProps) {
  const path = { turn_id: turnId };
  const turn = useResource(
    (signal) => body(api.GET("/v1/turns/{turn_id}", { params: { path }, signal })),
    [turnId, round],
  );
  const isRunning = turn.data !== undefined && isUnfinished(turn.data);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setTimeout(turn.reload, POLL_MS);
    return () => clearTimeout(timer);
  }, [isRunning, turn]);
  return (
    <div class="trace">
      <Loaded of={turn} rows={6}>
        {(found) => (
          <>
            <Summary turn={found} />
            <Problem turn={found} />
            <Sources turn={found} />
            <ToolCalls turn={found} />
            <RecordChanges turnId={turnId} round={found.finished_at} {...(onChanged ? { onChanged } : {})} />
            <PromptLayers turn={found} />
            <Stages turn={found} />
            <ModelCalls turn={found} />
            <Delivery turn={found} />
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Whether there is no reply yet, or a fresh one is on its way out. */
function isUnfinished({ finished_at: finished, delivery }: Turn): boolean {
  if (!finished) return true;
  const isFresh = Date.now() - Date.parse(finished) < 60_000;
  return isFresh && (delivery?.state === "pending" || delivery?.state === "sending");
}

function Summary({ turn }: { turn: Turn }) {
  const { tone, words } = turnState(turn);
  return (
    <header class="trace-head">
      <h2>
        Turn {turn.number} <Badge tone={tone}>{words}</Badge>
      </h2>
      <p class="soft" title={dateTime(turn.frozen_at)}>
        <Time at={turn.frozen_at} />
        {turn.attempt_count > 1 && ` · ${plural(turn.attempt_count, "attempt")}`}
      </p>
      <Facts
        facts={[
          ["Time to reply", turn.total_ms === null ? "not finished" : milliseconds(turn.total_ms)],
          ["Cost", dollars(turn.cost_usd)],
          ["Tokens billed, in", count(turn.total_prompt_tokens)],
          ["Tokens billed, out", count(turn.total_output_tokens)],
        ]}
      />
    </header>
  );
}

function Problem({ turn }: { turn: Turn }) {
  if (!turn.problem) return null;
  const isFailed = turn.state === "failed";
  return (
    <div class={isFailed ? "trace-problem bad" : "trace-problem"} role="note">
      <Icon name="alert" />
      <div>
        <p>
          <b>{isFailed ? "Why it failed" : "Why there was no usual answer"}: </b>
          {problemWords(turn.problem)}
        </p>
        {isFailed && (
          <p>
            The user was told that something went wrong. <a href={to(["inbox"])}>Open the inbox</a> to answer again, or
            to dismiss it.
          </p>
        )}
      </div>
    </div>
  );
}

function Sources({ turn }: { turn: Turn }) {
  const citations = turn.reply?.citations ?? [];
  return (
    <TracePart title="Sources that the reply cites" aside={citations.length ? plural(citations.length, "source") : ""}>
      {citations.length ? (
        <SourceList citations={citations} sourceId={`trace-source-${turn.id}`} />
      ) : (
        <p class="soft">The reply cites no source.</p>
      )}
    </TracePart>
  );
}

function PromptLayers({ turn }: { turn: Turn }) {
  const layers = turn.tokens_by_layer;
  const names = [...Object.keys(LAYERS), ...Object.keys(layers).filter((name) => !(name in LAYERS))];
  const rows = names
    .filter((name) => (layers[name] ?? 0) > 0)
    .map((name) => ({ key: name, label: layerName(name), value: layers[name] ?? 0, hint: LAYERS[name] }));
  if (!rows.length) return null;
  return (
    <TracePart title="Last prompt by layer" aside={`${count(sum(rows.map(({ value }) => value)))} budget tokens`}>
      <p class="soft">
        Parlour’s own count, by which it keeps the budget. The provider counts, and bills, in its own way.
      </p>
      <Bars rows={rows} format={count} />
      <p>
        <LinkButton href={to(["conversations", turn.session_id, "prompt", turn.id])} icon="eye">
          Open the prompt
        </LinkButton>
      </p>
    </TracePart>
  );
}

function Stages({ turn }: { turn: Turn }) {
  const names = [...Object.keys(STAGES), ...Object.keys(turn.stage_ms).filter((name) => !(name in STAGES))];
  const rows = names
    .filter((name) => name in turn.stage_ms)
    .map((name) => ({ key: name, label: STAGES[name] ?? layerName(name), value: turn.stage_ms[name] ?? 0 }));
  if (!rows.length) return null;
  return (
    <TracePart title="Time by stage">
      <Bars rows={rows} format={milliseconds} />
    </TracePart>
  );
}

function ModelCalls({ turn }: { turn: Turn }) {
  if (!turn.model_calls.length) return null;
  return (
    <TracePart title="Model calls" aside={plural(turn.model_calls.length, "call")}>
      <ol class="trace-list">
        {turn.model_calls.map((call, index) => (
          <li key={index}>
            <div>
              <b>{call.model}</b> <span class="soft">{call.provider}</span>
              <p class={call.outcome === "ok" || call.outcome === "stopped" ? "soft" : "trace-bad"}>
                {callWords(call)}
              </p>
            </div>
            <span class="trace-number">
              {milliseconds(call.latency_ms)}
              <br />
              <span class="soft">{dollars(call.cost_usd)}</span>
            </span>
          </li>
        ))}
      </ol>
    </TracePart>
  );
}

function callWords(call: Turn["model_calls"][number]): string {
  if (call.outcome === "unavailable") return "Not reachable: tried again, or passed to the fallback model.";
  if (call.outcome === "rejected") return "Refused by the provider.";
  return [
    call.outcome === "stopped" ? "Stopped; estimated" : "",
    `${count(billedInput(call))} tokens in`,
    call.cache_read_tokens ? `${count(call.cache_read_tokens)} of them from the cache` : "",
    call.cache_write_tokens ? `${count(call.cache_write_tokens)} stored in the cache` : "",
    `${count(call.output_tokens)} out`,
    call.first_token_ms === null ? "" : `first word after ${milliseconds(call.first_token_ms)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

function Delivery({ turn }: { turn: Turn }) {
  const { delivery } = turn;
  if (!delivery) return null;
  const [tone, words] = deliveryWords(delivery.state);
  return (
    <TracePart title="Delivery">
      <p>
        <Badge tone={tone}>{words}</Badge> {delivery.sent_at && <Time at={delivery.sent_at} />}
      </p>
      {["unknown", "held", "failed"].includes(delivery.state) && (
        <p>
          <a href={to(["inbox"])}>Decide in the inbox</a>
        </p>
      )}
    </TracePart>
  );
}

/** Input tokens as the provider bills them: uncached, read from the cache and written to it. */
function billedInput(call: Turn["model_calls"][number]): number {
  return call.input_tokens + call.cache_read_tokens + call.cache_write_tokens;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
