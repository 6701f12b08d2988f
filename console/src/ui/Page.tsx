import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";

interface PageProps {
  title: string;
  /** Where the arrow before the title leads. */
  back?: { href: string; label: string };
  /** One sentence below the title. */
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** The frame of every page: its title, what can be done, and its content. */
export function Page({ title, back, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Parlour`;
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        {back && (
          <a class="back" href={back.href} aria-label={back.label} title={back.label}>
            <Icon name="arrowLeft" />
          </a>
        )}
        <div class="page-title">
          <h1>{title}</h1>
          {lead && <div class="soft">{lead}</div>}
        </div>
        {actions && <div class="buttons">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface Tab {
  href: string;
  label: string;
  isCurrent: boolean;
}

/** Links between the parts of a section. Where they are wider than the window, the current one is scrolled to. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const list = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  useEffect(() => {
    const frame = list.current;
    const tab = frame?.querySelector<HTMLElement>("[aria-current]");
    // `scrollIntoView` would let the keyboard begin here, behind the navigation.
    if (frame && tab) frame.scrollLeft = tab.offsetLeft - frame.offsetLeft - (frame.clientWidth - tab.clientWidth) / 2;
  }, [current]);
  return (
    <nav ref={list} class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.href} href={tab.href} aria-current={tab.isCurrent ? "page" : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
