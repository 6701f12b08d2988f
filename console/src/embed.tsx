import { render } from "preact";
import { apiClient, body } from "./api/client";
import { toProblem } from "./api/problem";
import type { Agent } from "./chat/agent";
import { Chat } from "./chat/Chat";
import { ChatStore } from "./chat/chat_store";
import { loadSettings } from "./shell/settings";
import "./styles/tokens.css";
import "./styles/controls.css";
import { ErrorState } from "./ui/states";

/**
 * Show the agent of `embed.html?agent=TENANT/BINDING` in a frame. The server lets the pages of that agent's embed hosts
 * show this page, so it shows no other agent, whatever the rest of the address says.
 */
async function start(root: HTMLElement): Promise<void> {
  try {
    const [agent, { stream }] = await Promise.all([loadAgent(), loadSettings()]);
    const store = new ChatStore({ agents: [agent], stream });
    document.title = agent.name;
    void store.open(agent, null);
    render(
      <main class="chat-page">
        <Chat store={store} onPick={() => undefined} onLeaveRecord={() => undefined} />
      </main>,
      root,
    );
  } catch (error) {
    render(<ErrorState problem={toProblem(error)} reload={() => void start(root)} />, root);
  }
}

function loadAgent(): Promise<Agent> {
  const [tenant = "", binding = ""] = new URLSearchParams(location.search).get("agent")?.split("/") ?? [];
  const path = { tenant, binding };
  return body(apiClient(() => null).GET("/console/agents/{tenant}/{binding}", { params: { path } }));
}

const root = document.getElementById("app");
if (root) void start(root);
