import type { Schema } from "../../../api/client";
import { hasRole } from "../../../api/sign_in";
import { to } from "../../../shell/router";
import { date, plural } from "../../../ui/format";
import { EmptyState } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { channelName } from "../state_words";
import { FactValue } from "./FactValue";
import { ENDS, factLabel, originWords, useWords } from "./memory_words";

type Memory = Schema["UserMemoryView"];
type Fact = Schema["FactView"];

/** What the agents remember of a person, agent by agent: facts with the messages that say them, and events. */
export function MemoryList({ memory, onChanged }: { memory: Memory; onChanged: () => void }) {
  const { facts, episodes } = memory;
  const agents = [...new Set([...facts, ...episodes].map(({ agent }) => agent))].sort();
  if (!agents.length) {
    return (
      <EmptyState icon="book" title="Nothing is remembered">
        What this person states about themselves, such as a name or a preference, appears here.
      </EmptyState>
    );
  }
  return (
    <>
      {agents.map((agent) => (
        <section key={agent} class="card">
          <h3>{agent} remembers</h3>
          <ul class="facts-list">
            {facts
              .filter((fact) => fact.agent === agent)
              .map((fact) => (
                <li key={fact.id}>
                  <FactItem fact={fact} onChanged={onChanged} />
                </li>
              ))}
            {episodes
              .filter((episode) => episode.agent === agent)
              .map((episode) => (
                <li key={episode.id} class="fact">
                  <p>{episode.text}</p>
                  <p class="soft fact-about">
                    Event of {date(episode.from)}
                    {episode.merged_count > 0 && ` · repeated ${plural(episode.merged_count, "time")}`} ·{" "}
                    <a href={to(["conversations", episode.session_id])}>Open the conversation</a>
                  </p>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function FactItem({ fact, onChanged }: { fact: Fact; onChanged: () => void }) {
  const about = (
    <>
      {originWords(fact)} <Time at={fact.last_confirmed_at} /> · {useWords(fact)}
    </>
  );
  const value = { id: fact.id, label: factLabel(fact.key), value: fact.value, about, onChanged };
  return (
    <FactValue {...value} canEdit={hasRole("editor")} canErase={hasRole("admin")}>
      {fact.evidence_messages.map((message) => (
        <blockquote key={message.id} class="fact-evidence">
          {message.text || (message.is_archived ? "An archived message" : "A message without text")}
          <span class="soft">
            <Time at={message.sent_at} /> on {channelName(message.channel)} ·{" "}
            <a href={to(["conversations", message.session_id], { message: message.id })}>Show the message</a>
          </span>
        </blockquote>
      ))}
      {fact.previous_values.length > 0 && (
        <details>
          <summary>{plural(fact.previous_values.length, "earlier value")}</summary>
          <ul class="fact-history">
            {fact.previous_values.map((one) => (
              <li key={one.id}>
                <del>{one.value}</del>{" "}
                <span class="soft">
                  {date(one.from)} to {date(one.until)}, {ENDS[one.end_reason]}
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </FactValue>
  );
}
