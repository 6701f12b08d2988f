import { useMemo } from "preact/hooks";
import { CitedText } from "../ui/CitedText";
import { clock, dateTime } from "../ui/format";
import { useSteadyText } from "../ui/steady_text";
import type { Reply } from "./entries";

/** A reply, while it is written and after. */
export function ReplyArticle({ reply, name: agent }: { reply: Reply; name: string }) {
  const name = reply.author.value || agent;
  const text = useSteadyText(reply.text.value, reply.isComplete.value);
  const activity = reply.activity.value;
  const stored = reply.citations.value;
  const citations = useMemo(() => stored ?? provisionalCitations(text), [stored, text]);
  const at = reply.at.value;
  return (
    <article class="chat-reply" aria-busy={!reply.isComplete.value} aria-label={`Reply of ${name}`}>
      <p class="chat-byline">
        <b>{name}</b>
        {at && (
          <time dateTime={at} title={dateTime(at)}>
            {clock(at)}
          </time>
        )}
      </p>
      <Reasoning reply={reply} />
      {text && <CitedText text={text} citations={citations} hasSources={stored !== null} />}
      {activity && (
        <p class="chat-activity" role="status">
          <span class="chat-dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          {activity}
        </p>
      )}
      {reply.changes.value.map((change) => (
        <p key={change} class="chat-byline">
          {change}
        </p>
      ))}
      {reply.isStopped.value && <p class="chat-byline">{text ? "Stopped here" : "Stopped before the first word"}</p>}
      {reply.failure.value && <p class="chat-failure">{reply.failure.value}</p>}
    </article>
  );
}

/** What the model thought, folded; a member's chat has it until the page is loaded again. */
function Reasoning({ reply }: { reply: Reply }) {
  const steps = [...reply.reasoning.value.values()];
  if (steps.length === 0) return null;
  const isThinking = steps.some(({ milliseconds }) => milliseconds === null);
  const seconds = Math.max(1, Math.round(steps.reduce((sum, { milliseconds }) => sum + (milliseconds ?? 0), 0) / 1000));
  return (
    <details class="chat-reasoning">
      <summary>{isThinking && !reply.isComplete.value ? "Thinking" : `Thought for ${seconds} s`}</summary>
      <p>{steps.map(({ text }) => text.trim()).join("\n\n")}</p>
    </details>
  );
}

/** Return the numbers that a text cites while its sources are not known, so that their marks have their place. */
function provisionalCitations(text: string) {
  const numbers = [...text.matchAll(/\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/g)].flatMap(([, list = ""]) => list.split(","));
  return [...new Set(numbers.map(Number))].map((number) => ({ number, title: "", locator: "", link: null }));
}
