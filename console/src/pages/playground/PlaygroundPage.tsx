import { useCallback, useEffect, useState } from "preact/hooks";
import { body } from "../../api/client";
import { api, hasRole, signedIn } from "../../api/sign_in";
import { toChat, toPlayground } from "../../chat/address";
import { Chat } from "../../chat/Chat";
import { useConsoleChat } from "../../chat/use_console_chat";
import { navigate } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { LinkButton } from "../../ui/Button";
import { Page } from "../../ui/Page";
import { EmptyState } from "../../ui/states";
import { TurnTrace } from "../conversations/TurnTrace";
import { Phone } from "./Phone";
import "./playground.css";

/** Milliseconds: a turn's costs are in a moment after its reply. */
const SETTLE = 400;

/** The laptop's page: the web chat and a simulated phone side by side, and the trace of the newest turn. */
export default function PlaygroundPage({ route }: PageProps) {
  const ownTenant = signedIn.value?.tenant ?? "";
  const store = useConsoleChat(route);
  const [turnId, setTurnId] = useState<string | null>(null);

  const lastTurn = store.conversation.value?.lastTurn.value ?? null;
  useEffect(() => {
    if (!lastTurn) return undefined;
    const timer = setTimeout(() => setTurnId(lastTurn), SETTLE);
    return () => clearTimeout(timer);
  }, [lastTurn]);
  const showNewestTurn = useCallback(() => {
    setTimeout(() => void findNewestTurn().then((id) => id && setTurnId(id)), SETTLE);
  }, []);

  return (
    <Page
      title="Playground"
      lead="Talk to your agents on the web and on WhatsApp, and see how each reply came about. On the web you talk as yourself."
      actions={
        store.agent.value && (
          <LinkButton icon="chat" href={toChat(store.agent.value)}>
            Talk as a visitor
          </LinkButton>
        )
      }
    >
      <div class="playground">
        <div class="playground-chat">
          <Chat
            store={store}
            titleLevel="h2"
            onPick={(agent) => navigate(toPlayground(agent))}
            onLeaveRecord={() => navigate(toPlayground(store.agent.value ?? undefined), { replace: true })}
          />
        </div>
        <Phone tenant={ownTenant} agents={store.agents.value} onReply={showNewestTurn} />
        {hasRole("viewer") && (
          <section class="playground-trace" aria-label="Trace of the newest turn">
            {turnId ? (
              <TurnTrace turnId={turnId} />
            ) : (
              <EmptyState icon="pulse" title="No turn yet">
                <p>Write a message. How its reply came about is shown here.</p>
              </EmptyState>
            )}
          </section>
        )}
      </div>
    </Page>
  );
}

async function findNewestTurn(): Promise<string | null> {
  const page = await body(api.GET("/v1/turns", { params: { query: { limit: 1 } } })).catch(() => null);
  return page?.turns[0]?.id ?? null;
}
