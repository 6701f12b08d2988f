import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { toProblem } from "./api/problem";
import { recordOf } from "./chat/address";
import { Chat } from "./chat/Chat";
import { ChatStore } from "./chat/chat_store";
import { navigate, route, to, type Route } from "./shell/router";
import { loadSettings } from "./shell/settings";
import "./styles/tokens.css";
import "./styles/controls.css";
import { EmptyState, ErrorState } from "./ui/states";

/** Show the agent of the address, `#/TENANT/BINDING?about=risk/R-03`, or the first one. An agent's own host has one alone. */
async function start(root: HTMLElement): Promise<void> {
  try {
    const { bindings, stream, is_agent_host: isAgentHost } = await loadSettings();
    const store = new ChatStore({ agents: bindings, stream });
    effect(() => {
      const current = route.value;
      untracked(() => openAddress(store, isAgentHost ? { ...current, path: [] } : current));
    });
    render(<ChatPage store={store} />, root);
  } catch (error) {
    render(<ErrorState problem={toProblem(error)} reload={() => void start(root)} />, root);
  }
}

function openAddress(store: ChatStore, { path: [tenant, slug], query }: Route): void {
  const agent = tenant && slug ? store.findAgent(tenant, slug) : store.firstAgent();
  if (agent) void store.open(agent, recordOf(query));
}

function ChatPage({ store }: { store: ChatStore }) {
  const agent = store.agent.value;
  useEffect(() => {
    document.title = agent?.name ?? "Parlour";
  }, [agent]);
  return (
    <main class="chat-page">
      {agent ? (
        <Chat
          store={store}
          onPick={({ tenant, slug }) => navigate(to([tenant, slug]))}
          onLeaveRecord={() => navigate(to(route.value.path), { replace: true })}
        />
      ) : (
        <EmptyState icon="bot" title="No agent is set up for this address">
          <p>Check the address. It names a tenant and an agent, or its host name belongs to an agent.</p>
        </EmptyState>
      )}
    </main>
  );
}

const root = document.getElementById("app");
if (root) void start(root);
