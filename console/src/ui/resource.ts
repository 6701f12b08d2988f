import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAbort } from "../api/client";
import { toProblem, type Problem } from "../api/problem";

/** Data that a page reads from the API. While the same data is read again, `data` stays the earlier one. */
export interface Resource<Data> {
  data: Data | undefined;
  problem: Problem | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** Read data when the component appears and whenever `keys` change; a reader that is replaced is aborted. */
export function useResource<Data>(
  read: (signal: AbortSignal) => Promise<Data>,
  keys: readonly unknown[],
): Resource<Data> {
  const [state, setState] = useState<State<Data>>({ keys, data: undefined, problem: undefined, isLoading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest
      .current(abort.signal)
      .then((data) => !abort.signal.aborted && setState({ keys, data, problem: undefined, isLoading: false }))
      .catch((error: unknown) => {
        if (abort.signal.aborted || isAbort(error)) return;
        const problem = toProblem(error);
        setState((before) => ({ keys, data: dataOf(before, keys), problem, isLoading: false }));
      });
    return () => abort.abort();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the caller says what the data depends on
  }, [...keys, round]);
  const reload = useCallback(() => setRound((value) => value + 1), []);
  const isCurrent = areSame(state.keys, keys);
  return {
    data: dataOf(state, keys),
    problem: isCurrent ? state.problem : undefined,
    isLoading: state.isLoading || !isCurrent,
    reload,
  };
}

interface State<Data> {
  /** What the data was read for. */
  keys: readonly unknown[];
  data: Data | undefined;
  problem: Problem | undefined;
  isLoading: boolean;
}

/** Data that was read for other keys is not shown under the present ones. */
function dataOf<Data>(state: State<Data>, keys: readonly unknown[]): Data | undefined {
  return areSame(state.keys, keys) ? state.data : undefined;
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.every((key, place) => Object.is(key, others[place]));
}

interface Page<Item> {
  items: readonly Item[];
  next_cursor: string;
}

export interface PagedResource<Item> extends Resource<readonly Item[]> {
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
}

/** Read a list page by page; `keys` that change begin with the first page again. */
export function usePages<Item>(
  read: (cursor: string, signal: AbortSignal) => Promise<Page<Item>>,
  keys: readonly unknown[],
): PagedResource<Item> {
  const first = useResource((signal) => read("", signal), keys);
  const [later, setLater] = useState<{ of: unknown; pages: readonly Page<Item>[] }>({ of: null, pages: [] });
  const [isLoadingMore, setLoadingMore] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const pages = first.data ? [first.data, ...(later.of === first.data ? later.pages : [])] : [];
  const cursor = pages.at(-1)?.next_cursor ?? "";
  const loadMore = async () => {
    const of = first.data;
    setLoadingMore(true);
    setProblem(undefined);
    try {
      const page = await read(cursor, new AbortController().signal);
      setLater((before) => ({ of, pages: [...(before.of === of ? before.pages : []), page] }));
    } catch (error) {
      setProblem(toProblem(error));
    } finally {
      setLoadingMore(false);
    }
  };
  return {
    data: first.data && pages.flatMap((page) => page.items),
    problem: first.problem ?? problem,
    isLoading: first.isLoading,
    reload: first.reload,
    hasMore: cursor !== "",
    isLoadingMore,
    loadMore: () => void loadMore(),
  };
}

export interface Action<Arguments extends unknown[] = []> {
  run: (...given: Arguments) => void;
  isRunning: boolean;
  problem: Problem | undefined;
  clear: () => void;
}

/** Run something that the reader asked for, once at a time, and keep why it failed. */
export function useAction<Arguments extends unknown[] = []>(
  work: (...given: Arguments) => Promise<unknown>,
): Action<Arguments> {
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const run = async (...given: Arguments) => {
    if (isRunning) return;
    setRunning(true);
    setProblem(undefined);
    try {
      await work(...given);
    } catch (error) {
      if (!isAbort(error)) setProblem(toProblem(error));
    } finally {
      setRunning(false);
    }
  };
  return { run: (...given) => void run(...given), isRunning, problem, clear: () => setProblem(undefined) };
}
