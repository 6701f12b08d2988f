import { computed, signal } from "@preact/signals";
import type { Middleware } from "openapi-fetch";
import { apiClient, body, type Credentials, type Schema } from "./client";
import { isExpired } from "./expiry";
import { Problem } from "./problem";
import { readTab, writeTab } from "./storage";

const KEY = "parlour.sign-in";

interface SignedIn extends Credentials {
  tenant: string;
  me: Schema["CallerView"];
}

/** Who is signed in; null: nobody. Kept for this browser session only. */
export const signedIn = signal<SignedIn | null>(readTab<SignedIn>(KEY));

export const me = computed(() => signedIn.value?.me ?? null);

/** The API with the reader's credentials. A 401 marks the sign-in as expired; on a laptop it is renewed once. */
export const api = apiClient(() => signedIn.value);

let renew: (() => Promise<Credentials | null>) | null = null;
const copies = new Map<string, Request>();

/** Return the credentials with which the signed-in member talks to an agent as themselves; null for anybody else. */
export function memberCredentials({ tenant, slug }: { tenant: string; slug: string }): Credentials | null {
  const current = signedIn.value;
  return current?.me.kind === "member" && current.tenant === tenant
    ? { token: current.token, tenant, agent: slug }
    : null;
}

/** Renews the sign-in on a 401 and asks again, or marks it as expired. */
export const renewal: Middleware = {
  onRequest({ request, id }) {
    if (renew) copies.set(id, request.clone());
  },
  async onResponse({ response, id }) {
    const copy = copies.get(id);
    copies.delete(id);
    if (response.status !== 401 || !signedIn.value) return undefined;
    const renewed = renew ? await renew().catch(() => null) : null;
    if (!renewed || !copy) {
      isExpired.value = true;
      return undefined;
    }
    keep({ ...signedIn.value, token: renewed.token });
    copy.headers.set("Authorization", `Bearer ${renewed.token}`);
    const again = await fetch(copy);
    if (again.status === 401) isExpired.value = true;
    return again;
  },
};
api.use(renewal);

type Tenants = Schema["TenantChoiceView"]["tenants"];

/** A token that was accepted, and the tenants that it may enter, while the reader has to choose one. */
export const choice = signal<{ token: string; tenants: Tenants } | null>(null);

/** Sign in with a key or token, in the tenant it was used in before, in its only one, or in one to be chosen. */
export async function signInWith(token: string): Promise<void> {
  const { tenants } = await body(apiClient(() => ({ token })).GET("/v1/me/tenants"));
  const known =
    tenants.find(({ slug }) => slug === signedIn.value?.tenant) ?? (tenants.length === 1 ? tenants[0] : null);
  if (known) return signIn({ token, tenant: known.slug });
  if (!tenants.length) {
    throw new Problem(403, "forbidden", "You are no member of any tenant here. Ask an administrator to add you.");
  }
  choice.value = { token, tenants };
}

/** Act in a tenant. Throws a Problem if the API refuses it. */
export async function signIn(credentials: Credentials & { tenant: string }): Promise<void> {
  const found = await body(apiClient(() => credentials).GET("/v1/me"));
  keep({ ...credentials, tenant: found.tenant, me: found });
  choice.value = null;
  isExpired.value = false;
}

/** Read again what the reader may do, which can have changed since they signed in. */
export async function refreshRights(): Promise<void> {
  if (!signedIn.value) return;
  const found = await body(api.GET("/v1/me"));
  if (signedIn.value.tenant === found.tenant) keep({ ...signedIn.value, me: found });
}

/** Sign in on a laptop, where the stack hands out a token; false where it does not. */
export async function signInLocally(fetchToken: () => Promise<Credentials | null>): Promise<boolean> {
  renew = fetchToken;
  if (signedIn.value) return true;
  const found = await fetchToken().catch(() => null);
  if (!found?.tenant) return false;
  await signIn({ token: found.token, tenant: found.tenant });
  return true;
}

/** Act in another tenant with the same token. */
export async function switchTenant(tenant: string): Promise<void> {
  if (!signedIn.value) throw new Problem(401, "unauthenticated", "Sign in first.");
  await signIn({ token: signedIn.value.token, tenant });
}

/** Forget the sign-in. */
export function signOut(): void {
  signedIn.value = null;
  isExpired.value = false;
  writeTab(KEY, null);
}

/** Return whether the reader holds a role; administrators and operators hold every role. */
export function hasRole(role: "admin" | "editor" | "viewer"): boolean {
  const roles: readonly string[] = me.value?.roles ?? [];
  return me.value?.kind === "operator" || roles.includes("admin") || roles.includes(role);
}

function keep(value: SignedIn): void {
  signedIn.value = value;
  writeTab(KEY, value);
}
