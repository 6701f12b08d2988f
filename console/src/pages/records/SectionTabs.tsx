import { to } from "../../shell/router";
import { Tabs } from "../../ui/Page";

const LISTS = { records: "Records", documents: "Documents", files: "Files", search: "Search" } as const;

/** The lists of the section. */
export function SectionTabs({ current }: { current: keyof typeof LISTS }) {
  return (
    <Tabs
      label="Records, documents and files"
      tabs={Object.entries(LISTS).map(([key, label]) => ({ href: to([key]), label, isCurrent: key === current }))}
    />
  );
}
