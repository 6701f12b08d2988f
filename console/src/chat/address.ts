import type { Schema } from "../api/client";
import { to } from "../shell/router";
import { settings } from "../shell/settings";

interface AgentKey {
  tenant: string;
  slug: string;
}

type RecordLabel = Schema["RecordLabel"];

/** Return the address of the visitors' page with an agent, and a record to talk about. */
export function toChat({ tenant, slug }: AgentKey, about?: RecordLabel): string {
  return `chat.html${to([tenant, slug], { about: about?.handle, name: about?.name })}`;
}

/** Return the address of the laptop's playground with an agent, and a record to talk about. */
export function toPlayground(agent?: AgentKey, about?: RecordLabel): string {
  return to(["playground", ...(agent ? [agent.tenant, agent.slug] : [])], { about: about?.handle, name: about?.name });
}

/** Return the address of the console's page with an agent, and a record to talk about. */
export function toTalk({ tenant, slug }: AgentKey, about?: RecordLabel): string {
  return to(["talk", tenant, slug], { about: about?.handle, name: about?.name });
}

/** Return the address at which somebody who signed in talks to an agent: on a laptop the playground. */
export function toConversationWith(agent: AgentKey, about?: RecordLabel): string {
  return settings.value?.local ? toPlayground(agent, about) : toTalk(agent, about);
}

/** Return the record that an address names. Its name is only known with the first message. */
export function recordOf(query: URLSearchParams): RecordLabel | null {
  const handle = query.get("about");
  return handle ? { handle, name: query.get("name") || handle } : null;
}
