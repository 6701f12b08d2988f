import type { Agent } from "./agent";

interface AgentPickerProps {
  agents: readonly Agent[];
  agent: Agent;
  onPick: (agent: Agent) => void;
  titleLevel: "h1" | "h2";
}

/** The agent's name, and a choice where there are several. */
export function AgentPicker({ agents, agent, onPick, titleLevel: Title }: AgentPickerProps) {
  const index = agents.indexOf(agent);
  if (agents.length < 2) return <Title>{agent.name}</Title>;
  return (
    <>
      <Title class="visually-hidden">{agent.name}</Title>
      <label class="chat-picker">
        <span class="visually-hidden">Agent</span>
        <select
          value={String(index)}
          onChange={(event) => {
            const picked = agents[Number(event.currentTarget.value)];
            if (picked) onPick(picked);
          }}
        >
          {agents.map(({ tenant, slug, name }, position) => (
            <option key={`${tenant}/${slug}`} value={String(position)}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
