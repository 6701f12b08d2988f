import createClient, { type Client as OpenapiClient } from "openapi-fetch";
import { toProblem, problemOf } from "./problem";
import type { components, paths } from "./schema";

/** The types of the API's bodies by name: `Schema["SessionView"]`. */
export type Schema = components["schemas"];

/** The API's address. It is relative to this page, so a stage prefix in front of the path changes nothing. */
export const API_ROOT = new URL("../", document.baseURI).href;

export type Client = OpenapiClient<paths>;

export interface Credentials {
  token: string;
  /** The slug of the tenant to act in. Session and visitor tokens name their own. */
  tenant?: string | undefined;
  /** The slug of the agent that a signed-in member talks to, as themselves. */
  agent?: string | undefined;
}

/** Return a client that acts with the credentials that `current` returns at each call. */
export function apiClient(current: () => Credentials | null): Client {
  const client = createClient<paths>({ baseUrl: API_ROOT.replace(/\/$/, ""), cache: "no-store", credentials: "omit" });
  client.use({
    onRequest({ request }) {
      for (const [name, value] of Object.entries(authorization(current()))) request.headers.set(name, value);
    },
  });
  return client;
}

/** Return the headers that carry the credentials. */
export function authorization(credentials: Credentials | null): Record<string, string> {
  if (!credentials) return {};
  const headers: Record<string, string> = { Authorization: `Bearer ${credentials.token}` };
  if (credentials.tenant) headers["Parlour-Tenant"] = credentials.tenant;
  if (credentials.agent) headers["Parlour-Agent"] = credentials.agent;
  return headers;
}

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** Return an answer's body. Throws a Problem if the API refused, or could not be reached. */
export async function body<Data>(answer: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await answer.catch((fault: unknown) => {
    throw isAbort(fault) ? fault : toProblem(fault);
  });
  if (!response.ok) throw problemOf(response.status, error);
  return data as NonNullable<Data>;
}

/** Return whether a request ended because the page aborted it. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
