import type { ComponentChildren } from "preact";

/** A part of the trace with its heading. */
export function TracePart({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="trace-part">
      <h3>
        {title}
        {aside && <span class="soft">{aside}</span>}
      </h3>
      {children}
    </section>
  );
}
