import type { ComponentType } from "preact";
import { hasRole } from "../api/sign_in";
import type { IconName } from "../ui/icons";
import type { Route } from "./router";

export interface PageProps {
  route: Route;
}

interface Section {
  /** The first part of the address. */
  key: string;
  label: string;
  icon: IconName;
  /** Further first parts that belong to the section. */
  also?: readonly string[];
  isVisible: () => boolean;
  /** Who may open its pages by a link, though it is not in their navigation. */
  isReachable?: () => boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

const isViewer = () => hasRole("viewer");
const isReader = () => hasRole("viewer") || hasRole("editor");

/** The sections of the console in the order of the navigation. Pages are loaded when they are opened. */
export const SECTIONS: readonly Section[] = [
  {
    key: "inbox",
    label: "Inbox",
    icon: "inbox",
    isVisible: isViewer,
    load: () => import("../pages/inbox/InboxSection"),
  },
  {
    key: "conversations",
    label: "Conversations",
    icon: "chat",
    also: ["people", "memory"],
    isVisible: isViewer,
    isReachable: isReader,
    load: () => import("../pages/conversations/ConversationsSection"),
  },
  {
    key: "records",
    label: "Records",
    icon: "folder",
    also: ["search", "documents", "files", "new"],
    isVisible: isReader,
    load: () => import("../pages/records/RecordsSection"),
  },
  {
    key: "agents",
    label: "Agents",
    icon: "bot",
    isVisible: isViewer,
    load: () => import("../pages/agents/AgentsSection"),
  },
  {
    key: "insights",
    label: "Insights",
    icon: "chart",
    isVisible: isViewer,
    load: () => import("../pages/insights/InsightsPage"),
  },
  { key: "costs", label: "Costs", icon: "coins", isVisible: isViewer, load: () => import("../pages/costs/CostsPage") },
  {
    key: "settings",
    label: "Settings",
    icon: "gear",
    isVisible: isViewer,
    load: () => import("../pages/settings/SettingsSection"),
  },
];

/** The laptop's page with the web chat and the phone side by side. */
export const PLAYGROUND: Section = {
  key: "playground",
  label: "Playground",
  icon: "play",
  isVisible: () => true,
  load: () => import("../pages/playground/PlaygroundPage"),
};

/** The page on which a member talks to an agent; pages of records and agents lead there. */
const TALK: Section = {
  key: "talk",
  label: "Talk",
  icon: "chat",
  isVisible: () => true,
  load: () => import("../pages/talk/TalkPage"),
};

/** Return the sections that the reader may open. */
export function visibleSections(isLocal: boolean): readonly Section[] {
  return [...SECTIONS.filter((section) => section.isVisible()), ...(isLocal ? [PLAYGROUND] : [])];
}

/** Return the section of an address, if the reader may open it. */
export function openedSection(route: Route, isLocal: boolean): Section | undefined {
  const reachable = SECTIONS.filter((section) => section.isVisible() || section.isReachable?.());
  return sectionOf(route, [...reachable, TALK, ...(isLocal ? [PLAYGROUND] : [])]);
}

/** Return the section that an address belongs to. */
export function sectionOf(route: Route, sections: readonly Section[]): Section | undefined {
  const [first = ""] = route.path;
  return sections.find((section) => section.key === first || section.also?.includes(first));
}
