import { Problem, problemOf, UNREACHABLE } from "../../api/problem";

/** A message on the simulated phone; `sent` is what its owner wrote. */
export interface PhoneMessage {
  id: string;
  direction: "sent" | "received";
  text: string;
  at: string;
  status: string;
  /** What its reader may press. */
  buttons: readonly PhoneButton[];
}

/** A button below a message. */
export interface PhoneButton {
  id: string;
  title: string;
}

/** A WhatsApp number of a binding, that the phone can write to. */
export interface BusinessNumber {
  binding: string;
  name: string;
  /** The name that the phone shows: who speaks for the binding. */
  contact: string;
}

export interface BusinessNumbers {
  /** The number of the phone, until its owner types another. */
  from: string;
  numbers: readonly BusinessNumber[];
}

/** A conversation: a phone's number and the binding that it writes to. */
export interface PhoneThread {
  tenant: string;
  binding: string;
  from: string;
}

/** Read the WhatsApp numbers of a tenant. */
export async function readNumbers(tenant: string, signal: AbortSignal): Promise<BusinessNumbers> {
  const query = new URLSearchParams({ tenant }).toString();
  return (await call(`local/phone/numbers?${query}`, { signal })) as BusinessNumbers;
}

/** Read the messages of a conversation, oldest first. */
export async function readMessages(thread: PhoneThread, signal: AbortSignal): Promise<readonly PhoneMessage[]> {
  const query = new URLSearchParams({ ...thread }).toString();
  const answer = (await call(`local/phone/messages?${query}`, { signal })) as { messages: PhoneMessage[] };
  return answer.messages;
}

/** Send a message, or the press of a button, as the WhatsApp provider would deliver it. */
export async function sendFromPhone(thread: PhoneThread, text: string, button_id = ""): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  await call("local/phone", { method: "POST", headers, body: JSON.stringify({ ...thread, text, button_id }) });
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
