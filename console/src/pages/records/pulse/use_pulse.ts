import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { body, isAbort, type Schema } from "../../../api/client";
import { toProblem, type Problem } from "../../../api/problem";
import { api } from "../../../api/sign_in";

export type RecordPulse = Schema["RecordPulseView"];

/** Milliseconds between two reads: while a new text is due, and else. */
const POLL_MS = { due: 4_000, idle: 10_000 };

interface PolledPulse {
  found: RecordPulse | undefined;
  problem: Problem | undefined;
  /** Read it now and return it. */
  read: () => Promise<RecordPulse>;
}

/** Read a record's Pulse, and again while the page is in view. Only the first read counts as somebody's. */
export function usePulse(type: string, recordKey: string): PolledPulse {
  const [found, setFound] = useState<RecordPulse>();
  const [problem, setProblem] = useState<Problem>();
  const hasRead = useRef(false);
  const read = useCallback(
    async (signal?: AbortSignal) => {
      const params = { path: { type_key: type, key: recordKey }, query: { poll: hasRead.current } };
      const pulse = await body(api.GET("/v1/entities/{type_key}/{key}/pulse", { params, signal: signal ?? null }));
      hasRead.current = true;
      if (!signal?.aborted) {
        setFound(pulse);
        setProblem(undefined);
      }
      return pulse;
    },
    [type, recordKey],
  );
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const look = async () => {
      let pause = POLL_MS.idle;
      try {
        if (!document.hidden || !hasRead.current) pause = isDue(await read(abort.signal)) ? POLL_MS.due : POLL_MS.idle;
      } catch (error) {
        if (!isAbort(error)) setProblem(toProblem(error));
      }
      if (!abort.signal.aborted) timer = setTimeout(() => void look(), pause);
    };
    void look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [read]);
  return { found, problem, read };
}

function isDue(pulse: RecordPulse): boolean {
  return Boolean(pulse.stale_since && !pulse.waiting_for && !pulse.problem);
}
