import { label } from "../../approvals/approval";
import { RevokeGrant } from "../../approvals/RevokeGrant";
import { body } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { to } from "../../shell/router";
import { date } from "../../ui/format";
import { usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

/** What agents may do without a question, because somebody said "always allow". */
export function Permissions() {
  const grants = usePages(async (cursor, signal) => {
    const page = await body(api.GET("/v1/approvals/grants", { params: { query: { cursor } }, signal }));
    return { items: page.grants, next_cursor: page.next_cursor };
  }, []);
  return (
    <>
      <p class="soft">
        Some tool calls need an approval. A person who approves one can also allow the tool for a time. After you revoke
        a permission, the next call needs an approval again.
      </p>
      <Loaded of={grants}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState icon="shield" title="No permissions">
              <p>A permission appears here when somebody answers a question with “Always allow”.</p>
            </EmptyState>
          ) : (
            <Table
              caption="Permissions"
              rows={list}
              rowKey={(grant) => grant.id}
              columns={[
                { label: "Tool", cell: (grant) => label(grant.tool) },
                {
                  label: "For",
                  cell: (grant) => <a href={to(["people", grant.user_id])}>Person …{grant.user_id.slice(-6)}</a>,
                },
                { label: "Until", cell: (grant) => date(grant.expires_at) },
                { label: "Allowed by", cell: (grant) => grant.granted_by, isSecondary: true },
                { label: "Allowed", cell: (grant) => <Time at={grant.created_at} />, isSecondary: true },
                {
                  label: "Action",
                  cell: (grant) => hasRole("admin") && <RevokeGrant grant={grant} api={api} onDone={grants.reload} />,
                },
              ]}
            />
          )
        }
      </Loaded>
      <LoadMore pages={grants} />
    </>
  );
}
