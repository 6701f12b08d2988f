import { useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { setQuery } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { AmountDialog } from "../../ui/AmountDialog";
import { BarChart } from "../../ui/BarChart";
import { Button } from "../../ui/Button";
import { ConfirmButton } from "../../ui/Dialog";
import { count, dateTime, dollars, plural, sentenceCase } from "../../ui/format";
import { Page } from "../../ui/Page";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { Facts, Table } from "../../ui/Table";
import "./costs.css";

type Report = Schema["CostReportView"];

const PERIODS = [
  [1, "Today"],
  [7, "Last 7 days"],
  [30, "Last 30 days"],
  [92, "Last 92 days"],
] as const;

/** What model calls cost, against the cap, and what for. */
export default function CostsPage({ route }: PageProps) {
  const days = PERIODS.find(([value]) => value === Number(route.query.get("days")))?.[0] ?? 7;
  const chosenDay = route.query.get("day") ?? "";
  const report = useResource((signal) => body(api.GET("/v1/costs", { params: { query: { days } }, signal })), [days]);
  return (
    <Page
      title="Costs"
      lead="Model calls in US dollars. Days are in UTC."
      actions={
        <label>
          <span class="visually-hidden">Period</span>
          <select value={String(days)} onChange={(event) => setQuery({ days: event.currentTarget.value, day: "" })}>
            {PERIODS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      }
    >
      <Loaded of={report}>
        {(found) => {
          const day = found.days.find((one) => one.day === chosenDay);
          return (
            <>
              <Today report={found} onChange={report.reload} />
              <Days report={found} chosen={chosenDay} />
              <Breakdown costs={day ?? found.total} period={day ? day.day : `last ${plural(days, "day")}`} />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Today({ report: { today }, onChange }: { report: Report; onChange: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const act = async (path: "/v1/costs/stop" | "/v1/costs/resume") => {
    await body(api.POST(path));
    onChange();
  };
  const [spent, cap] = [Number(today.spent_usd), Number(today.cap_usd)];
  return (
    <section class="card costs-today">
      <h2>Today</h2>
      {today.stopped && (
        <p class="notice" role="status">
          Model calls are switched off{today.stopped_at ? ` since ${dateTime(today.stopped_at)}` : ""}. Agents answer
          that they cannot help now.
        </p>
      )}
      <p class="costs-figure">
        <strong>{dollars(today.spent_usd)}</strong> of {dollars(today.cap_usd)} a day
      </p>
      <progress max={Math.max(cap, 0.000001)} value={Math.min(spent, cap)} aria-label="Spent today of the daily cap" />
      <p class="soft">
        {Number(today.reserved_usd) > 0 && `${dollars(today.reserved_usd)} reserved for running calls. `}
        {today.has_own_cap ? "The cap is this tenant’s own." : "The cap is the deployment’s default."}
      </p>
      {hasRole("admin") && (
        <div class="buttons">
          <Button icon="pen" onClick={() => setEditing(true)}>
            Change the cap
          </Button>
          {today.stopped ? (
            <ConfirmButton
              kind="solid"
              label="Switch model calls on"
              title="Switch model calls on?"
              confirmLabel="Switch on"
              work={() => act("/v1/costs/resume")}
            >
              <p>The next message calls a model again, which costs money.</p>
            </ConfirmButton>
          ) : (
            <ConfirmButton
              label="Switch model calls off"
              title="Switch model calls off?"
              confirmLabel="Switch off"
              work={() => act("/v1/costs/stop")}
            >
              <p>
                No model is called from now on. People who write read that agents cannot help now. You can switch it on
                at any time.
              </p>
            </ConfirmButton>
          )}
        </div>
      )}
      {isEditing && (
        <AmountDialog
          title="Change the daily cap"
          label="Daily cap in US dollars"
          hint="Empty: the deployment’s default. It holds from the next call."
          name="daily_cap_usd"
          amount={today.has_own_cap ? today.cap_usd : ""}
          onClose={() => setEditing(false)}
          save={async (amount) => {
            await body(api.PUT("/v1/costs/cap", { body: { daily_cap_usd: amount } }));
            onChange();
          }}
        />
      )}
    </section>
  );
}

function Days({ report, chosen }: { report: Report; chosen: string }) {
  const days = [...report.days].reverse();
  if (days.length < 2 || Number(report.total.cost_usd) === 0) return null;
  return (
    <section class="card">
      <h2>
        {plural(days.length, "day")}: {dollars(report.total.cost_usd)}
      </h2>
      <BarChart
        label="Cost by day"
        bars={days.map((day) => ({
          key: day.day,
          label: day.day,
          value: Number(day.cost_usd),
          text: dollars(day.cost_usd),
        }))}
        chosen={chosen}
        onChoose={(day) => setQuery({ day: day === chosen ? "" : day })}
      />
      <p class="soft">
        {chosen ? "Choose the day again to see the whole period." : "Choose a day to see what it was spent on."}
      </p>
    </section>
  );
}

const PURPOSES: Record<string, string> = {
  answer: "Replies",
  turn: "Replies",
  pulse: "Pulses",
  pulse_question: "Questions about records",
  extraction: "Memory: facts",
  summary: "Memory: summaries",
  consolidation: "Memory: consolidation",
  embedding: "Search: embeddings",
  distillation: "Files: summaries",
  compaction: "Conversation summaries",
};

function Breakdown({ costs, period }: { costs: Schema["PeriodCostsView"]; period: string }) {
  if (costs.calls === 0) {
    return (
      <EmptyState icon="coins" title={`No model calls: ${period}`}>
        <p>The first reply of an agent shows its cost here.</p>
      </EmptyState>
    );
  }
  return (
    <>
      <section class="card">
        <h2>All model calls: {period}</h2>
        <Facts
          facts={[
            ["Cost", dollars(costs.cost_usd)],
            ["Calls", count(costs.calls) + (costs.failed_calls ? `, ${count(costs.failed_calls)} failed` : "")],
            ["Input tokens", count(costs.input_tokens + costs.cache_read_tokens + costs.cache_write_tokens)],
            ["Of these from the prompt cache", `${costs.cache_hit_percent} %`],
            ["Output tokens", count(costs.output_tokens)],
            ["Replies without a model because of the cap", costs.degraded_turns ? count(costs.degraded_turns) : ""],
            ["Counted against the cap", costs.spent_usd === costs.cost_usd ? "" : dollars(costs.spent_usd)],
            [
              "Possible cost of calls that never ended",
              Number(costs.unsettled_usd) ? dollars(costs.unsettled_usd) : "",
            ],
            ["Calls without a known price", costs.unpriced_calls ? count(costs.unpriced_calls) : ""],
          ]}
        />
      </section>
      <Shares
        title="By agent"
        of={costs.by_binding}
        name={(key) => (key ? sentenceCase(key) : "Background work")}
        total={Number(costs.cost_usd)}
      />
      <Shares
        title="By purpose"
        of={costs.by_purpose}
        name={(key) => PURPOSES[key] ?? sentenceCase(key)}
        total={Number(costs.cost_usd)}
      />
      <Shares title="By model" of={costs.by_model} name={(key) => key} total={Number(costs.cost_usd)} />
    </>
  );
}

interface SharesProps {
  title: string;
  of: Record<string, Schema["UsageSumsView"]>;
  name: (key: string) => string;
  total: number;
}

function Shares({ title, of, name, total }: SharesProps) {
  return (
    <section class="costs-shares">
      <h2>{title}</h2>
      <Table
        caption={title}
        rows={Object.entries(of)}
        rowKey={([key]) => key}
        columns={[
          { label: "Name", cell: ([key]) => name(key) },
          { label: "Cost", cell: ([, sums]) => dollars(sums.cost_usd), isNumber: true },
          {
            label: "Share",
            cell: ([, sums]) => (total ? `${Math.round((100 * Number(sums.cost_usd)) / total)} %` : "–"),
            isNumber: true,
          },
          { label: "Calls", cell: ([, sums]) => count(sums.calls), isNumber: true },
          {
            label: "Input tokens",
            cell: ([, sums]) => count(sums.input_tokens + sums.cache_read_tokens + sums.cache_write_tokens),
            isNumber: true,
            isSecondary: true,
          },
          { label: "From cache", cell: ([, sums]) => `${sums.cache_hit_percent} %`, isNumber: true, isSecondary: true },
          { label: "Output tokens", cell: ([, sums]) => count(sums.output_tokens), isNumber: true, isSecondary: true },
        ]}
      />
    </section>
  );
}
