import { useEffect } from "preact/hooks";
import { isUnderWay, type FileView } from "./file_states";

/** Milliseconds between two reads: at first, and at most for a file that does not move. */
const POLL_MS = { first: 1_500, longest: 20_000 };

/** Read files again while one of them is on its way. */
export function useFilePoll(files: readonly FileView[] | undefined, reload: () => void): void {
  const states = (files ?? []).map(({ id, state, version }) => `${id} ${state} ${version}`).join();
  const isMoving = files?.some(isUnderWay) ?? false;
  useEffect(() => {
    if (!isMoving) return undefined;
    let pause = POLL_MS.first;
    let timer = 0;
    const later = () => {
      timer = setTimeout(() => {
        if (!document.hidden) reload();
        pause = Math.min(pause * 1.5, POLL_MS.longest);
        later();
      }, pause);
    };
    later();
    return () => clearTimeout(timer);
    // A file that moves on begins with the first pause again.
  }, [states, isMoving, reload]);
}
