import { Mark } from "../shell/Mark";
import type { Agent } from "./agent";
import { Face } from "./Face";

const SAMPLES = ["What can you help me with?", "What happened most recently?"];

/** What a conversation shows before its first message: a greeting and the agent's own sample questions. */
export function Welcome({ agent, onPick }: { agent: Agent; onPick: (text: string) => void }) {
  const samples = agent.samples.length ? agent.samples : SAMPLES;
  return (
    <div class="chat-welcome">
      {agent.face ? <Face agent={agent} /> : <Mark />}
      <h2>Talk to {agent.name}</h2>
      <p class="soft">{agent.greeting || "Ask in your own words. Answers cite their sources."}</p>
      <div class="chat-samples">
        {samples.slice(0, 4).map((text) => (
          <button key={text} type="button" class="chat-sample" onClick={() => onPick(text)}>
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}
