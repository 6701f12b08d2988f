import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface ScrollableProps {
  /** What it holds, for screen readers. */
  label: string;
  class?: string;
  children: ComponentChildren;
}

/** Content that scrolls if it is too long; then it takes the focus, so that the keyboard can scroll it. */
export function Scrollable({ label, class: name, children }: ScrollableProps) {
  const element = useRef<HTMLDivElement>(null);
  const [isScrollable, setScrollable] = useState(false);
  useEffect(() => {
    const region = element.current;
    if (!region) return undefined;
    const measure = () =>
      setScrollable(region.scrollHeight > region.clientHeight + 1 || region.scrollWidth > region.clientWidth + 1);
    const observer = new ResizeObserver(measure);
    observer.observe(region);
    measure();
    return () => observer.disconnect();
  }, [children]);
  const focus = isScrollable ? { tabIndex: 0, role: "group" as const, "aria-label": label } : {};
  return (
    <div ref={element} class={name} {...focus}>
      {children}
    </div>
  );
}
