import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { body } from "../../api/client";
import { api, hasRole, signedIn } from "../../api/sign_in";
import { recordOf, toPlayground } from "../../chat/address";
import { Chat } from "../../chat/Chat";
import { ChatStore } from "../../chat/chat_store";
import { navigate } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { settings } from "../../shell/settings";
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
  const store = useMemo(
    () =>
      new ChatStore({
        agents: (settings.value?.bindings ?? []).filter((agent) => agent.tenant === ownTenant),
        stream: settings.value?.stream ?? false,
        readAs: () => (hasRole("viewer") ? signedIn.value : null),
      }),
    [ownTenant],
  );
  const [turnId, setTurnId] = useState<string | null>(null);
  const [, tenant, slug] = route.path;
  const about = route.query.get("about");
  useEffect(() => {
    const agent = slug && tenant === ownTenant ? store.findAgent(tenant, slug) : store.firstAgent();
    if (agent) void store.open(agent, recordOf(route.query));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `about` is what is read of the query
  }, [store, ownTenant, tenant, slug, about]);
  useEffect(() => () => store.conversation.peek()?.close(), [store]);

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
    <Page title="Playground" lead="Talk to your agents on the web and on WhatsApp, and see how each reply came about.">
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
