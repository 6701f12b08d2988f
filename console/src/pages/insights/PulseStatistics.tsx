import { useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { toRecord } from "../../shell/router";
import { AmountDialog } from "../../ui/AmountDialog";
import { BarChart } from "../../ui/BarChart";
import { Button } from "../../ui/Button";
import { count, dollars, milliseconds } from "../../ui/format";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { Facts, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

const DAYS = 14;

/** How fresh the Pulses are, what they cost, and which ones wait. */
export function PulseStatistics() {
  const statistics = useResource(
    (signal) => body(api.GET("/v1/pulses", { params: { query: { days: DAYS } }, signal })),
    [],
  );
  return (
    <Loaded of={statistics}>
      {({ now, total, days, most_expensive }) => (
        <>
          <Current now={now} onChange={statistics.reload} />
          <section class="card">
            <h2>Last {DAYS} days</h2>
            <BarChart
              label="Pulses written by day"
              bars={[...days].reverse().map((day) => ({
                key: day.day,
                label: day.day,
                value: day.regenerated,
                text: `${count(day.regenerated)} written`,
              }))}
            />
            <Facts
              facts={[
                ["Written", count(total.regenerated)],
                ["Checked without a change", count(total.skipped)],
                ["Changes joined with others", count(total.coalesced)],
                ["Failed", count(total.failed)],
                ["Reads", count(total.reads)],
                ["Reads while stale", count(total.stale_reads)],
                ["Average age of a missing change", milliseconds(total.average_staleness_seconds * 1_000)],
                ["Cost", dollars(total.cost_usd)],
              ]}
            />
          </section>
          {most_expensive.length > 0 && (
            <section class="insights-part">
              <h2>Most expensive records</h2>
              <Table
                caption="Most expensive records"
                rows={most_expensive}
                rowKey={(row) => row.record}
                columns={[
                  { label: "Record", cell: (row) => <a href={toRecord(row.record)}>{row.name}</a> },
                  { label: "Written", cell: (row) => count(row.regenerated), isNumber: true },
                  { label: "Reads", cell: (row) => count(row.reads), isNumber: true },
                  { label: "Cost", cell: (row) => dollars(row.cost_usd), isNumber: true },
                ]}
              />
            </section>
          )}
          {!days.length && <EmptyState icon="pulse" title="No Pulses yet" />}
        </>
      )}
    </Loaded>
  );
}

function Current({ now, onChange }: { now: Schema["CurrentPulsesView"]; onChange: () => void }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <section class="card">
      <h2>Now</h2>
      <Facts
        facts={[
          ["Records with a Pulse", count(now.record_count)],
          [
            "Due",
            now.due_since ? (
              <>
                {count(now.due_count)}, since <Time at={now.due_since} />
              </>
            ) : (
              count(now.due_count)
            ),
          ],
          ["Waiting for tomorrow’s budget", count(now.over_budget_count)],
          ["Waiting after a failure", count(now.backing_off_count)],
          ["Given up", count(now.given_up_count)],
          ["Spent today", `${dollars(now.spent_usd)} of ${dollars(now.cap_usd)}${now.has_own_cap ? "" : " (default)"}`],
        ]}
      />
      {hasRole("admin") && (
        <div class="buttons insights-actions">
          <Button icon="pen" onClick={() => setEditing(true)}>
            Change the daily budget
          </Button>
        </div>
      )}
      {isEditing && (
        <AmountDialog
          title="Daily budget of Pulses"
          label="US dollars a day"
          hint="Part of the tenant’s daily cap. Empty: the deployment’s default."
          name="pulse_daily_cap_usd"
          amount={now.has_own_cap ? now.cap_usd : ""}
          onClose={() => setEditing(false)}
          save={async (amount) => {
            await body(api.PUT("/v1/pulses/cap", { body: { pulse_daily_cap_usd: amount } }));
            onChange();
          }}
        />
      )}
    </section>
  );
}
