import { body } from "../../api/client";
import { api, hasRole, me } from "../../api/sign_in";
import { Badge } from "../../ui/Badge";
import { ConfirmButton } from "../../ui/Dialog";
import { clearanceName } from "../../ui/clearance";
import { sentenceCase } from "../../ui/format";
import { useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { Facts } from "../../ui/Table";

const STATUS_TONES = { active: "good", paused: "warning", archived: "bad" } as const;

/** The tenant, its status, and who is signed in. */
export function TenantSettings() {
  const tenant = useResource((signal) => body(api.GET("/v1/tenant", { signal })), []);
  const setStatus = async (status: "active" | "paused") => {
    await body(api.PUT("/v1/tenant/status", { body: { status } }));
    tenant.reload();
  };
  const who = me.value;
  return (
    <>
      <section class="card">
        <h2>Tenant</h2>
        <Loaded of={tenant} rows={2}>
          {({ slug, display_name, status }) => (
            <>
              <Facts
                facts={[
                  ["Name", display_name],
                  ["Short name", slug],
                  [
                    "Status",
                    <Badge tone={STATUS_TONES[status as keyof typeof STATUS_TONES]}>{sentenceCase(status)}</Badge>,
                  ],
                ]}
              />
              {hasRole("admin") && status !== "archived" && (
                <div class="buttons settings-actions">
                  {status === "active" ? (
                    <ConfirmButton
                      label="Pause the tenant"
                      title="Pause the tenant?"
                      confirmLabel="Pause"
                      work={() => setStatus("paused")}
                    >
                      <p>
                        Agents stop answering. People who write read that they get no answer for now. You can resume at
                        any time.
                      </p>
                    </ConfirmButton>
                  ) : (
                    <ConfirmButton
                      kind="solid"
                      label="Resume the tenant"
                      title="Resume the tenant?"
                      confirmLabel="Resume"
                      work={() => setStatus("active")}
                    >
                      <p>Agents answer new messages again.</p>
                    </ConfirmButton>
                  )}
                </div>
              )}
            </>
          )}
        </Loaded>
      </section>
      {who && (
        <section class="card">
          <h2>You</h2>
          <Facts
            facts={[
              ["Signed in as", who.name || sentenceCase(who.kind)],
              ["Kind", sentenceCase(who.kind)],
              ["Roles", who.roles.length ? who.roles.map(sentenceCase).join(", ") : "none"],
              ["Clearance", clearanceName(who.clearance)],
            ]}
          />
        </section>
      )}
    </>
  );
}
