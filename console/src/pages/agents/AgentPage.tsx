import { body, type Schema } from "../../api/client";
import { Problem } from "../../api/problem";
import { api, hasRole, me } from "../../api/sign_in";
import { to } from "../../shell/router";
import { LinkButton } from "../../ui/Button";
import { clearanceName } from "../../ui/clearance";
import { Page, Tabs } from "../../ui/Page";
import { Scrollable } from "../../ui/Scrollable";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { Facts } from "../../ui/Table";
import { toConversationWith } from "../../chat/address";
import { channelName, DOORS } from "./words";

/** The tiers of a persona, as a binding's file names them, and their folders in a pack. */
const TIERS = [
  ["human", "humans", "Who speaks"],
  ["team", "teams", "The job"],
  ["agent", "agents", "Model and budget"],
] as const;

/** One agent: what it is, who may talk to it, and the files that define it. */
export function AgentPage({ slug, file }: { slug: string; file: string }) {
  const agent = useResource(
    async (signal) => {
      const { bindings } = await body(api.GET("/v1/bindings", { signal }));
      const found = bindings.find((one) => one.slug === slug);
      if (!found) throw new Problem(404, "not_found", `No active agent is called “${slug}”.`);
      return found;
    },
    [slug],
  );
  const tenant = me.value?.tenant ?? "";
  return (
    <Page
      title={agent.data?.display_name ?? "Agent"}
      back={{ href: to(["agents"]), label: "All agents" }}
      actions={
        <>
          <LinkButton icon="chat" href={to(["conversations"], { agent: slug })}>
            Conversations
          </LinkButton>
          {agent.data?.is_open_to_caller && (
            <LinkButton kind="solid" icon="play" href={toConversationWith({ tenant, slug })}>
              Talk to it
            </LinkButton>
          )}
        </>
      }
    >
      <Loaded of={agent} rows={3}>
        {(found) => (
          <>
            <section class="card">
              <Facts
                facts={[
                  ["Channels", found.channels.map(channelName).join(", ")],
                  ["Open to", DOORS[found.door] ?? found.door],
                  ["Sees up to", clearanceName(found.clearance)],
                  ["Version", found.version],
                ]}
              />
              {found.greeting && <blockquote class="agents-greeting">{found.greeting}</blockquote>}
            </section>
            {hasRole("admin") ? (
              <Definition agent={found} file={file} />
            ) : (
              <p class="soft">The files that define this agent are shown to administrators.</p>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The pack's files of an agent, as `parlour export` writes them. */
function Definition({ agent, file }: { agent: Schema["BindingView"]; file: string }) {
  const pack = useResource((signal) => body(api.GET("/v1/pack", { signal })), []);
  return (
    <Loaded of={pack}>
      {({ files }) => {
        const own = `bindings/${agent.slug}.yaml`;
        const definition = files[own] ?? "";
        const tiers = TIERS.map(([tier, folder, label]) => {
          const name = new RegExp(`^${tier}:\\s*["']?([\\w.-]+)`, "m").exec(definition)?.[1];
          return { path: name ? `${folder}/${name}.yaml` : "", label };
        });
        const shown = [{ path: own, label: "Where it answers" }, ...tiers].filter(({ path }) => path in files);
        const current = shown.find(({ path }) => path === file) ?? shown[0];
        if (!current) return <EmptyState icon="file" title="The pack has no file of this agent" />;
        return (
          <section class="agents-definition">
            <h2>Definition</h2>
            <Tabs
              label="Files of the agent"
              tabs={shown.map(({ path, label }) => ({
                href: to(["agents", agent.slug], { file: path }),
                label,
                isCurrent: path === current.path,
              }))}
            />
            <p class="soft">
              <code>{current.path}</code> in the tenant’s pack. Change it there and run <code>parlour apply</code>.
            </p>
            <Scrollable class="agents-file" label={current.path}>
              <pre>{files[current.path]}</pre>
            </Scrollable>
          </section>
        );
      }}
    </Loaded>
  );
}
