import { useEffect, useMemo } from "preact/hooks";
import { apiClient, body } from "../api/client";
import { hasRole, me, memberCredentials, renewal, signedIn } from "../api/sign_in";
import type { Route } from "../shell/router";
import { settings } from "../shell/settings";
import { recordOf } from "./address";
import type { Agent } from "./agent";
import { ChatStore } from "./chat_store";

/**
 * Return the chat of a page of the console, with the agent of its address `#/PAGE/TENANT/BINDING?about=risk/R-03`. A member
 * talks as themselves.
 */
export function useConsoleChat({ path, query }: Route): ChatStore {
  const ownTenant = signedIn.value?.tenant ?? "";
  const store = useMemo(
    () =>
      new ChatStore({
        agents: (settings.value?.bindings ?? []).filter((agent) => agent.tenant === ownTenant),
        stream: settings.value?.stream ?? false,
        readAs: () => (me.value?.kind !== "member" && hasRole("viewer") ? signedIn.value : null),
        member: memberCredentials,
        middleware: [renewal],
      }),
    [ownTenant],
  );
  const [, tenant, slug] = path;
  const about = query.get("about");
  useEffect(() => {
    let isCurrent = true;
    void findAgent(store, ownTenant, tenant === ownTenant ? slug : undefined).then((agent) => {
      if (agent && isCurrent) void store.open(agent, recordOf(query));
    });
    return () => {
      isCurrent = false;
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `about` is what is read of the query
  }, [store, ownTenant, tenant, slug, about]);
  useEffect(() => () => store.conversation.peek()?.close(), [store]);
  return store;
}

/** Return an agent of the tenant; one that the settings do not list, such as a private one, is read first. */
async function findAgent(store: ChatStore, tenant: string, slug: string | undefined): Promise<Agent | undefined> {
  if (!slug) return store.firstAgent();
  if (!store.agents.value.some((agent) => agent.slug === slug)) {
    const client = apiClient(() => signedIn.value);
    const params = { path: { tenant, binding: slug } };
    const found = await body(client.GET("/console/agents/{tenant}/{binding}", { params })).catch(() => null);
    if (found) store.agents.value = [...store.agents.value, found];
  }
  return store.findAgent(tenant, slug);
}
