import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { sentenceCase } from "../../ui/format";
import { usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

/** Who changed the tenant's configuration, members, keys and limits, and when. */
export function AuditLog() {
  const entries = usePages(async (cursor, signal) => {
    const page = await body(api.GET("/v1/audit", { params: { query: { cursor } }, signal }));
    return { items: page.entries, next_cursor: page.next_cursor };
  }, []);
  return (
    <>
      <p class="soft">Every change of the configuration, newest first. Changes of records are under Insights.</p>
      <Loaded of={entries}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState icon="scroll" title="Nothing was changed yet" />
          ) : (
            <Table
              caption="Audit log"
              rows={rows}
              rowKey={(row) => row.id}
              columns={[
                { label: "What", cell: (row) => sentenceCase(row.action.replaceAll(".", " ")) },
                { label: "Who", cell: (row) => row.actor_name || kindOf(row.actor) },
                { label: "Of what", cell: (row) => row.target_name || kindOf(row.target), isSecondary: true },
                { label: "Details", cell: (row) => <Details of={row.details} />, isSecondary: true },
                { label: "When", cell: (row) => <Time at={row.at} /> },
              ]}
            />
          )
        }
      </Loaded>
      <LoadMore pages={entries} />
    </>
  );
}

function Details({ of }: { of: Record<string, unknown> }) {
  const simple = Object.entries(of).filter(([, value]) => value !== null && typeof value !== "object");
  return <>{simple.map(([name, value]) => `${sentenceCase(name)}: ${String(value)}`).join(" · ")}</>;
}

/** "member:0190…" -> "Member …7d6d": the kind, and as much of the id as tells two apart. */
function kindOf(reference: string): string {
  const [kind = "", id = ""] = reference.split(/:(.*)/s);
  return id ? `${sentenceCase(kind)} …${id.slice(-4)}` : sentenceCase(kind);
}
