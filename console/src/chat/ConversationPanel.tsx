import { useEffect, useRef } from "preact/hooks";
import { Button } from "../ui/Button";
import type { ChatStore } from "./chat_store";
import { ConversationList } from "./ConversationList";
import { OwnMemory } from "./OwnMemory";

/** What is beside the thread: the visitor's conversations, or what the agent remembers. Escape closes it. */
export function ConversationPanel({ store }: { store: ChatStore }) {
  const panel = useRef<HTMLDivElement>(null);
  const opener = useRef<Element | null>(null);
  useEffect(() => {
    opener.current = document.activeElement;
    panel.current?.focus();
    return () => opener.current instanceof HTMLElement && opener.current.focus();
  }, []);
  const isMemory = store.panel.value === "memory";
  const close = () => (store.panel.value = null);
  return (
    // Escape is heard from whatever has the focus inside.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      ref={panel}
      class="chat-panel"
      role="region"
      aria-label={isMemory ? "What is remembered about you" : "Your conversations"}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) close();
      }}
    >
      {isMemory ? <OwnMemory store={store} /> : <ConversationList store={store} />}
      <Button class="chat-panel-close" icon="close" aria-label="Close" onClick={close} />
    </div>
  );
}
