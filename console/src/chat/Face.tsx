import type { Agent } from "./agent";

/** The agent's face: an emoji or letters on its colour. The name is beside it. */
export function Face({ agent }: { agent: Agent }) {
  return (
    <span class="chat-face" aria-hidden="true">
      {agent.face}
    </span>
  );
}
