import { signal } from "@preact/signals";
import { apiClient, body, type Credentials, type Schema } from "../api/client";

export type ConsoleSettings = Schema["ConsoleSettingsView"];

/** What the deployment told this page; null until it is loaded. */
export const settings = signal<ConsoleSettings | null>(null);

const anonymous = apiClient(() => null);

/** Read the settings of this address. */
export async function loadSettings(): Promise<ConsoleSettings> {
  settings.value = await body(anonymous.GET("/console/settings.json"));
  return settings.value;
}

/** Return the token that a laptop's stack hands out; null where there is none. */
export async function fetchLocalToken(): Promise<Credentials | null> {
  const response = await fetch(new URL("../local/token", document.baseURI), { cache: "no-store" });
  return response.ok ? ((await response.json()) as Credentials) : null;
}
