import { to } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { Page, Tabs } from "../../ui/Page";
import { RecordChanges } from "./RecordChanges";
import { PulseStatistics } from "./PulseStatistics";
import "./insights.css";

const PARTS = [
  { key: "changes", label: "Changes of records", Part: RecordChanges },
  { key: "pulses", label: "Pulses", Part: PulseStatistics },
] as const;

/** What happened to the records: who changed what, and how fresh their Pulses are. */
export default function InsightsPage({ route }: PageProps) {
  const current = PARTS.find(({ key }) => key === route.path[1]) ?? PARTS[0];
  return (
    <Page title="Insights">
      <Tabs
        label="Insights"
        tabs={PARTS.map((part) => ({
          href: to(["insights", part.key]),
          label: part.label,
          isCurrent: part === current,
        }))}
      />
      <current.Part />
    </Page>
  );
}
