import { EventSourceParserStream } from "eventsource-parser/stream";
import { API_ROOT, authorization, isAbort, type Credentials, type Schema } from "./client";
import { Problem, problemOf, UNREACHABLE } from "./problem";

export type SessionEvent = Schema["SessionEvent"];

interface Options {
  /** Whether the API streams here; else it is polled. */
  stream: boolean;
  signal: AbortSignal;
}

/** Milliseconds between two polls: at first, and at most while nothing happens. */
const POLL_MS = { first: 600, longest: 5_000 };

/** Failures in a row after which events are polled: some proxies let no stream through. */
const STREAM_FAILURES = 3;

/** Yield the events of a session after number `after` until `signal` aborts. A lost connection is resumed. */
export async function* sessionEvents(
  sessionId: string,
  credentials: () => Credentials | null,
  after: number,
  { stream, signal }: Options,
): AsyncGenerator<SessionEvent> {
  let number = after;
  let failures = 0;
  let wait = POLL_MS.first;
  let isStreamed = stream;
  while (!signal.aborted) {
    try {
      const source = isStreamed ? streamed : polled;
      for await (const event of source(sessionId, credentials(), number, signal)) {
        failures = 0;
        wait = POLL_MS.first;
        if (event.number <= number) continue;
        number = event.number;
        yield event;
      }
      if (isStreamed) continue;
      await sleep(wait, signal);
      wait = Math.min(wait * 1.2, POLL_MS.longest);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      const isFinal = error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429;
      failures += 1;
      if (isFinal || failures > 8) throw error;
      isStreamed &&= failures < STREAM_FAILURES;
      await sleep(Math.min(500 * 2 ** failures, 8_000), signal);
    }
  }
}

async function* polled(id: string, credentials: Credentials | null, after: number, signal: AbortSignal) {
  const response = await reach(`v1/sessions/${id}/events?after=${after}`, credentials, signal);
  const page = (await response.json()) as Schema["EventListView"];
  yield* page.events;
}

async function* streamed(id: string, credentials: Credentials | null, after: number, signal: AbortSignal) {
  const headers = { Accept: "text/event-stream", "Last-Event-ID": String(after) };
  const response = await reach(`v1/sessions/${id}/stream`, credentials, signal, headers);
  if (!response.body) return;
  const frames = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = frames.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield JSON.parse(value.data) as SessionEvent;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function reach(path: string, credentials: Credentials | null, signal: AbortSignal, headers: HeadersInit = {}) {
  const init: RequestInit = {
    headers: { ...headers, ...authorization(credentials) },
    signal,
    cache: "no-store",
    credentials: "omit",
  };
  const response = await fetch(new URL(path, API_ROOT), init).catch((error: unknown) => {
    throw isAbort(error) ? error : new Problem(0, "unreachable", UNREACHABLE);
  });
  if (!response.ok) throw problemOf(response.status, await response.json().catch(() => null));
  return response;
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
