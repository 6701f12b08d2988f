import { to } from "../../shell/router";
import { Tabs } from "../../ui/Page";

/** The two lists of the section. */
export function SectionTabs({ current }: { current: "conversations" | "people" }) {
  return (
    <Tabs
      label="Conversations and people"
      tabs={[
        { href: to(["conversations"]), label: "Conversations", isCurrent: current === "conversations" },
        { href: to(["people"]), label: "People", isCurrent: current === "people" },
      ]}
    />
  );
}
