// Talking to Parlour. Every address is relative to this page, so a stage prefix in front of it changes nothing.

const ROOT = new URL("../", document.baseURI);
const UNREACHABLE = "Cannot reach Parlour. Check that it is running; your text is kept.";

/** Something the server refused or could not do, in words for people. */
export class Problem extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** One call; JSON in, JSON out. Throws Problem, whatever went wrong. */
export async function call(method, path, { body, token, tenant, signal } = {}) {
  const response = await reach(method, path, { body, token, tenant, signal });
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw refusal(response.status, answer);
  return answer;
}

async function reach(method, path, { body, token, tenant, signal, accept = "application/json", after }) {
  const headers = { Accept: accept };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  if (tenant) headers["Parlour-Tenant"] = tenant;
  if (after !== undefined) headers["Last-Event-ID"] = String(after);
  try {
    return await fetch(new URL(path, ROOT), { method, headers, signal, cache: "no-store", credentials: "omit", body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", UNREACHABLE);
  }
}

function refusal(status, answer) {
  const told = answer?.error;
  return new Problem(status, told?.code ?? "unknown", told?.message ?? `Parlour answered with status ${status}.`);
}

/**
 * The numbered events of a session after `after`, as they come, until the caller stops asking.
 * Streams where the server can, asks where it cannot: after `pause` ms, and more seldom up to `longest` while nothing comes.
 * A broken line is picked up where it broke.
 */
export async function* events(session, after, { stream, signal, pause = 600, longest = 5000 }) {
  let number = after;
  let failures = 0;
  let wait = pause;
  while (!signal.aborted) {
    try {
      const batch = stream ? streamed(session, number, signal) : polled(session, number, signal);
      for await (const event of batch) {
        failures = 0;
        wait = pause;
        if (event.number <= number) continue;
        number = event.number;
        yield event;
      }
      if (!stream) await sleep(wait, signal);
      wait = Math.min(wait * 1.2, longest);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      failures += 1;
      if (failures > 8) throw error;
      stream = stream && failures < 3;
      await sleep(Math.min(500 * 2 ** failures, 8000), signal);
    }
  }
}

async function* polled(session, after, signal) {
  const path = `v1/sessions/${session.session_id}/events?after=${after}`;
  const answer = await call("GET", path, { token: session.token, signal });
  yield* answer.events;
}

async function* streamed(session, after, signal) {
  const path = `v1/sessions/${session.session_id}/stream`;
  const response = await reach("GET", path, { token: session.token, signal, accept: "text/event-stream", after });
  if (!response.ok) throw refusal(response.status, await response.json().catch(() => null));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    yield* frames(reader);
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function* frames(reader) {
  let kept = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    kept += value;
    const parts = kept.split("\n\n");
    kept = parts.pop();
    for (const part of parts) {
      const event = frame(part);
      if (event) yield event;
    }
  }
}

function frame(text) {
  const data = text.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
  return data.length ? JSON.parse(data.join("\n")) : null;
}

export function sleep(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/** An id for what is about to be sent, so that sending it again is harmless. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What went wrong, as one would say it to a visitor. */
export function kindly(error) {
  if (error.status === 401 || error.status === 404) return "This conversation has ended. Send your message again to start a new one.";
  if (error.status === 503) return "Parlour is busy. Your message is kept; try again in a moment.";
  return error instanceof Problem ? error.message : "An error occurred in this page. Reload it and try again.";
}
