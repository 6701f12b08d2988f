import { useEffect, useRef } from "preact/hooks";

type Keys = Record<string, () => void>;

/** Call what belongs to a key, unless the reader types, holds a modifier or has a dialog open. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
      if (isTyping || document.querySelector("dialog[open]")) return;
      const work = latest.current[event.key];
      if (!work) return;
      event.preventDefault();
      work();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
