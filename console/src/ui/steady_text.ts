import { useEffect, useRef, useState } from "preact/hooks";

/** The longest time between two batches: the API commits the text of a reply in intervals that grow up to this. */
const MAX_BATCH_MILLISECONDS = 2000;
const TICK_MILLISECONDS = 50;

/**
 * Return what to show of a text that comes in batches: each appears word by word until the next one is expected.
 * A complete text is shown whole, and so is every batch to readers who prefer reduced motion.
 */
export function useSteadyText(text: string, isComplete: boolean): string {
  const [shown, setShown] = useState(text.length);
  const begunAt = useRef(0);
  useEffect(() => {
    const now = performance.now();
    const isFirst = shown === 0;
    if (isFirst) begunAt.current = now;
    if (isComplete || isFirst || text.length <= shown || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      setShown(text.length);
      return;
    }
    const duration = Math.min(MAX_BATCH_MILLISECONDS, now - begunAt.current);
    const timer = setInterval(() => {
      const share = Math.min(1, (performance.now() - now) / duration);
      setShown(Math.ceil(shown + (text.length - shown) * share));
      if (share === 1) clearInterval(timer);
    }, TICK_MILLISECONDS);
    return () => clearInterval(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `shown` changes while a batch appears: only its start counts
  }, [text, isComplete]);
  if (isComplete) return text;
  const wordEnd = text.indexOf(" ", shown);
  return wordEnd < 0 ? text : text.slice(0, wordEnd);
}
