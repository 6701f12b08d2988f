import { Problem, problemOf, UNREACHABLE } from "../../api/problem";

/** A message on the simulated phone; `sent` is what its owner wrote. */
export interface PhoneMessage {
  id: string;
  direction: "sent" | "received";
  text: string;
  at: string;
  status: string;
}

export interface PhoneState {
  /** The name that the phone shows for the agent. */
  contact: string;
  /** The agent that the phone's WhatsApp number belongs to. */
  binding: string;
  /** The number of the phone. */
  from: string;
  messages: PhoneMessage[];
}

/** Read the messages of a number; without one, of the phone's own. */
export async function readPhone(from: string, signal?: AbortSignal): Promise<PhoneState> {
  const query = from ? `?${new URLSearchParams({ from }).toString()}` : "";
  return (await call(`local/phone/messages${query}`, { signal: signal ?? null })) as PhoneState;
}

/** Send a message from a number, as the WhatsApp provider would deliver it. */
export async function sendFromPhone(from: string, text: string): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  await call("local/phone", { method: "POST", headers, body: JSON.stringify({ from, text }) });
}

/** The laptop's own routes are not part of the API, so no client is generated for them. */
async function call(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(new URL(`../${path}`, document.baseURI), { ...init, cache: "no-store" }).catch(() => {
    throw new Problem(0, "unreachable", UNREACHABLE);
  });
  const answer: unknown = await response.json().catch(() => null);
  if (response.status === 422) {
    throw new Problem(422, "invalid", "Write the number with + and its country code, without spaces: +447700900123.");
  }
  if (!response.ok) throw problemOf(response.status, answer);
  return answer;
}
