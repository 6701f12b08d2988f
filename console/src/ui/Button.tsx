import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { Icon } from "./Icon";
import type { IconName } from "./icons";

type ButtonProps = ButtonHTMLAttributes & {
  kind?: "solid" | "quiet" | "danger" | "link";
  icon?: IconName;
  type?: "button" | "submit";
  "aria-label"?: string;
  class?: string;
  children?: ComponentChildren;
};

/** A button; with an icon and no text it needs an `aria-label`. */
export function Button({ kind = "quiet", icon, type = "button", children, class: extra, ...rest }: ButtonProps) {
  const name = ["button", kind, icon && !children ? "icon-only" : "", extra ?? ""].filter(Boolean).join(" ");
  return (
    <button type={type} class={name} title={children ? undefined : rest["aria-label"]} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function LinkButton({
  href,
  icon,
  kind = "quiet",
  children,
}: {
  href: string;
  icon?: IconName;
  kind?: "solid" | "quiet";
  children: ComponentChildren;
}) {
  return (
    <a class={`button ${kind}`} href={href}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}
