import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { Badge } from "../../ui/Badge";
import { count, sentenceCase } from "../../ui/format";
import { usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

/** The limits of visitors, addresses and agents: what is left, and how many requests were refused. */
export function Limits() {
  const limits = usePages(async (cursor, signal) => {
    const page = await body(api.GET("/v1/limits", { params: { query: { cursor } }, signal }));
    return { items: page.limits, next_cursor: page.next_cursor };
  }, []);
  return (
    <>
      <p class="soft">
        Limits keep one visitor, address or agent from using the service of the others. Those that refused requests come
        first.
      </p>
      <Loaded of={limits}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState icon="shield" title="No limit has been used yet">
              <p>A limit appears here with the first message of a visitor.</p>
            </EmptyState>
          ) : (
            <Table
              caption="Limits"
              rows={rows}
              rowKey={(row) => `${row.scope} ${row.key}`}
              columns={[
                { label: "Limits", cell: (row) => sentenceCase(row.scope) },
                { label: "Whom", cell: (row) => <span title={row.key}>…{row.key.slice(-6)}</span> },
                {
                  label: "State",
                  cell: (row) => (
                    <Badge tone={row.was_refused ? "bad" : "good"}>
                      {row.was_refused ? "Refused the last request" : "Open"}
                    </Badge>
                  ),
                },
                { label: "Requests left", cell: (row) => count(row.tokens), isNumber: true, isSecondary: true },
                { label: "Refused so far", cell: (row) => count(row.refused_count), isNumber: true, isSecondary: true },
                { label: "Last request", cell: (row) => <Time at={row.refilled_at} />, isSecondary: true },
              ]}
            />
          )
        }
      </Loaded>
      <LoadMore pages={limits} />
    </>
  );
}
