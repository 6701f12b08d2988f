import { Icon } from "../../ui/Icon";
import { ICONS, type IconName } from "../../ui/icons";

const HUES = new Set("amber blue brown cyan green grey indigo navy orange red teal violet".split(" "));
const OTHER_HUES: Record<string, string> = {
  gray: "grey",
  slate: "grey",
  yellow: "amber",
  pink: "red",
  purple: "violet",
};
const OTHER_ICONS: Record<string, IconName> = {
  warning: "alert",
  contract: "scroll",
  money: "coins",
  user: "person",
  clipboard: "list",
  report: "document",
  message: "chat",
  settings: "gear",
};

/** The icons and colours of the usual types, for a pack that does not choose any. */
const DEFAULTS: Record<string, readonly [IconName, string]> = {
  project: ["folder", "blue"],
  document: ["document", "grey"],
  file: ["file", "grey"],
  task: ["check", "green"],
  goal: ["target", "violet"],
  plan: ["map", "teal"],
  milestone: ["flag", "amber"],
  risk: ["alert", "red"],
  requirement: ["ruler", "indigo"],
  output: ["box", "brown"],
  finding: ["search", "orange"],
  contract: ["scroll", "navy"],
  conversation: ["chat", "cyan"],
  permit: ["shield", "cyan"],
  change_order: ["arrows", "orange"],
};

interface TypeSignProps {
  type: string;
  icon?: string | null | undefined;
  colour?: string | null | undefined;
}

/** A record type's icon in its colour, else its first letter. It is decorative: the type's name stands beside it. */
export function TypeSign({ type, icon, colour }: TypeSignProps) {
  const [defaultIcon, defaultHue] = DEFAULTS[type] ?? [undefined, "grey"];
  const wanted = (icon ?? "").trim();
  const name = isIcon(wanted) ? wanted : (OTHER_ICONS[wanted.toLowerCase()] ?? defaultIcon);
  const asked = (colour ?? "").trim().toLowerCase();
  const hue = OTHER_HUES[asked] ?? asked;
  return (
    <span class="records-sign" aria-hidden="true" style={{ color: `var(--hue-${HUES.has(hue) ? hue : defaultHue})` }}>
      {name ? <Icon name={name} /> : (type || "?").charAt(0).toUpperCase()}
    </span>
  );
}

function isIcon(name: string): name is IconName {
  return Object.hasOwn(ICONS, name);
}
