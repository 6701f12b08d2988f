import { readTab, writeTab } from "./storage";
import { Problem } from "./problem";

const KEY = "parlour.oidc";

export interface Provider {
  issuer: string;
  client_id: string;
  name: string;
}

interface Pending extends Provider {
  verifier: string;
  state: string;
  tenant: string;
  /** The page that asked for the sign-in. */
  hash: string;
}

interface Discovery {
  authorization_endpoint: string;
  token_endpoint: string;
}

/** Go to the provider's page to sign in: OpenID Connect's code flow with PKCE (RFC 7636). */
export async function startOidc(provider: Provider, tenant: string): Promise<void> {
  const { authorization_endpoint: endpoint } = await discover(provider.issuer);
  const [verifier, state] = [randomText(), randomText()];
  writeTab(KEY, { ...provider, verifier, state, tenant, hash: location.hash } satisfies Pending);
  const query = new URLSearchParams({
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri: redirectUri(),
    scope: "openid profile",
    state,
    code_challenge: await challenge(verifier),
    code_challenge_method: "S256",
  });
  location.assign(`${endpoint}?${query.toString()}`);
}

/** Complete a sign-in that the provider sent back here. Return null if the address carries none. */
export async function completeOidc(): Promise<{ token: string; tenant: string } | null> {
  const query = new URLSearchParams(location.search);
  const pending = readTab<Pending>(KEY);
  const [code, state, refused] = [query.get("code"), query.get("state"), query.get("error")];
  if (!state || !(code || refused)) return null;
  writeTab(KEY, null);
  history.replaceState(null, "", redirectUri() + (pending?.hash ?? ""));
  // The router read the address before, and replacing it is no event.
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  if (refused || !code) throw failed(query.get("error_description") ?? refused ?? "it sent no code");
  if (!pending || pending.state !== state) throw failed("the answer does not belong to this browser tab");
  const { token_endpoint: endpoint } = await discover(pending.issuer);
  const response = await fetch(endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: pending.client_id,
      redirect_uri: redirectUri(),
      code,
      code_verifier: pending.verifier,
    }),
  });
  const answer = (await response.json().catch(() => ({}))) as { id_token?: string; error?: string };
  if (!response.ok || !answer.id_token) throw failed(answer.error ?? `status ${response.status}`);
  return { token: answer.id_token, tenant: pending.tenant };
}

async function discover(issuer: string): Promise<Discovery> {
  const response = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`).catch(() => null);
  if (!response?.ok) throw failed("it cannot be reached");
  return (await response.json()) as Discovery;
}

function failed(reason: string): Problem {
  return new Problem(0, "sign_in", `The sign-in provider did not sign you in: ${reason}. Try again.`);
}

function redirectUri(): string {
  return location.origin + location.pathname;
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

async function challenge(verifier: string): Promise<string> {
  return base64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}
