import type { PageProps } from "../../shell/sections";
import { AgentPage } from "./AgentPage";
import { AgentsPage } from "./AgentsPage";
import "./agents.css";

/** The agents of the tenant: `#/agents` lists them, `#/agents/SLUG` shows one. */
export default function AgentsSection({ route }: PageProps) {
  const slug = route.path[1];
  return slug ? <AgentPage key={slug} slug={slug} file={route.query.get("file") ?? ""} /> : <AgentsPage />;
}
