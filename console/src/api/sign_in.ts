import { computed, signal } from "@preact/signals";
import { apiClient, body, type Credentials, type Schema } from "./client";
import { isExpired } from "./expiry";
import { Problem, toProblem } from "./problem";
import { readTab, writeTab } from "./storage";

const KEY = "parlour.sign-in";

interface SignedIn extends Credentials {
  tenant: string;
  me: Schema["CallerView"];
}

/** Who is signed in; null: nobody. Kept for this browser session only. */
export const signedIn = signal<SignedIn | null>(readTab<SignedIn>(KEY));

export const me = computed(() => signedIn.value?.me ?? null);

/** The API as whoever signed in. A 401 expires the sign-in; on a laptop it is renewed once without a question. */
export const api = apiClient(() => signedIn.value);

let renew: (() => Promise<Credentials | null>) | null = null;

api.use({
  async onResponse({ request, response }) {
    if (response.status !== 401 || !signedIn.value) return undefined;
    const renewed = renew ? await renew().catch(() => null) : null;
    if (!renewed?.tenant) {
      isExpired.value = true;
      return undefined;
    }
    keep({ ...signedIn.value, token: renewed.token });
    if (request.bodyUsed || request.method !== "GET") return undefined;
    const again = new Request(request, { headers: new Headers(request.headers) });
    again.headers.set("Authorization", `Bearer ${renewed.token}`);
    return fetch(again);
  },
});

/** Sign in with an API key or a member's token. Throws a Problem if the API refuses it. */
export async function signIn(credentials: Credentials & { tenant: string }): Promise<void> {
  const found = await body(apiClient(() => credentials).GET("/v1/me"));
  keep({ ...credentials, tenant: found.tenant, me: found });
  isExpired.value = false;
}

/**
 * Sign in on a laptop, where the stack hands out a token; false where it does not. A sign-in of this tab is checked
 * again, because the laptop may have other tenants since; if it expired, its tenant is kept.
 */
export async function signInLocally(fetchToken: () => Promise<Credentials | null>): Promise<boolean> {
  renew = fetchToken;
  const kept = signedIn.value;
  const found = await fetchToken().catch(() => null);
  const renewed = kept && found && { token: found.token, tenant: kept.tenant };
  for (const credentials of [kept, renewed, found]) {
    const { token, tenant } = credentials ?? {};
    if (!token || !tenant) continue;
    const problem = await signIn({ token, tenant }).then(() => null, toProblem);
    if (!problem) return true;
    if (credentials === found) throw problem;
  }
  return false;
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
