import { ICONS, type IconName } from "./icons";

/** An icon by its name. It is decorative: its control needs a label of its own. */
export function Icon({ name }: { name: IconName }) {
  return <span class="icon" aria-hidden="true" dangerouslySetInnerHTML={{ __html: ICONS[name] }} />;
}
