import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { to } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { clearanceName } from "../../ui/clearance";
import { Page } from "../../ui/Page";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { channelName, DOORS } from "./words";

/** The active agents. */
export function AgentsPage() {
  const agents = useResource((signal) => body(api.GET("/v1/bindings", { signal })), []);
  return (
    <Page title="Agents" lead="Each agent answers on its channels. Agents come from the tenant’s pack.">
      <Loaded of={agents}>
        {({ bindings }) =>
          bindings.length === 0 ? (
            <EmptyState icon="bot" title="No agents yet">
              <p>
                Write a pack and apply it: <code>parlour apply FOLDER</code>
              </p>
            </EmptyState>
          ) : (
            <ul class="agents-list">
              {bindings.map((agent) => (
                <li key={agent.id} class="card">
                  <h2>
                    <a href={to(["agents", agent.slug])}>{agent.display_name}</a>
                  </h2>
                  <p class="soft">{agent.greeting || "It greets nobody by itself."}</p>
                  <p class="agents-badges">
                    {agent.channels.map((channel) => (
                      <Badge key={channel} tone="accent">
                        {channelName(channel)}
                      </Badge>
                    ))}
                    <Badge>{DOORS[agent.door] ?? agent.door}</Badge>
                    <Badge>Sees up to {clearanceName(agent.clearance).toLowerCase()}</Badge>
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}
