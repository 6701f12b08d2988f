import { useState } from "preact/hooks";
import { Badge } from "../../../ui/Badge";
import { milliseconds, plural, sentenceCase } from "../../../ui/format";
import { useResource } from "../../../ui/resource";
import { Loaded } from "../../../ui/states";
import type { Schema } from "../../../api/client";
import { TracePart } from "./TracePart";
import { readCalls, type CallTexts } from "./call_texts";
import { outcomeWords } from "./turn_words";

type Turn = Schema["TurnView"];

/** The tools that a turn called; what each was given and what it answered is read when it is opened. */
export function ToolCalls({ turn }: { turn: Turn }) {
  if (!turn.tool_calls.length) return null;
  return (
    <TracePart title="Tools" aside={plural(turn.tool_calls.length, "call")}>
      <ul class="trace-tools">
        {turn.tool_calls.map((call, index) => (
          <ToolCall key={call.id} turn={turn} index={index} />
        ))}
      </ul>
    </TracePart>
  );
}

function ToolCall({ turn, index }: { turn: Turn; index: number }) {
  const [isOpen, setOpen] = useState(false);
  const call = turn.tool_calls[index];
  if (!call) return null;
  const [tone, words] = outcomeWords(call.state);
  const earlier = turn.tool_calls.slice(0, index).filter(({ name }) => name === call.name).length;
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <b>{sentenceCase(call.name)}</b> <Badge tone={tone}>{words}</Badge>
          <span class="trace-number soft">
            {call.heavy ? "in the background" : call.latency_ms === null ? "" : milliseconds(call.latency_ms)}
          </span>
        </summary>
        {isOpen && <CallDetails turnId={turn.id} name={call.name} place={earlier} />}
      </details>
    </li>
  );
}

function CallDetails({ turnId, name, place }: { turnId: string; name: string; place: number }) {
  const calls = useResource((signal) => readCalls(turnId, signal), [turnId]);
  return (
    <Loaded of={calls} rows={2}>
      {(found) => <CallTextsView texts={found.filter((one) => one.name === name)[place]} />}
    </Loaded>
  );
}

function CallTextsView({ texts }: { texts: CallTexts | undefined }) {
  if (!texts)
    return (
      <p class="soft">
        The arguments are in no stored prompt: the turn ended before the next model call, or its prompts are deleted.
      </p>
    );
  return (
    <>
      <h4>Arguments</h4>
      <Readable value={texts.given} />
      <h4>Result</h4>
      {texts.result === undefined ? (
        <p class="soft">No result yet.</p>
      ) : (
        <div class="trace-result">
          <Readable value={texts.result} />
        </div>
      )}
    </>
  );
}

/** A JSON value for readers: names with their values, lists as lists. */
function Readable({ value }: { value: unknown }) {
  if (value === null || value === undefined || value === "") return <span class="soft">nothing</span>;
  if (typeof value !== "object")
    return <span class="trace-value">{typeof value === "string" ? value : JSON.stringify(value)}</span>;
  if (isList(value)) {
    return (
      <ol class="trace-values">
        {value.map((one, index) => (
          <li key={index}>
            <Readable value={one} />
          </li>
        ))}
      </ol>
    );
  }
  return (
    <dl class="trace-arguments">
      {Object.entries<unknown>({ ...value }).map(([name, one]) => (
        <div key={name}>
          <dt>{sentenceCase(name)}</dt>
          <dd>
            <Readable value={one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
