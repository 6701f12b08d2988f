import { readTab, writeTab } from "./storage";
import { Problem, toProblem } from "./problem";

const KEY = "parlour.oidc";

export interface Provider {
  issuer: string;
  client_id: string;
  name: string;
}

interface Pending extends Provider {
  verifier: string;
  state: string;
  /** The page that asked for the sign-in. */
  hash: string;
  /** Whether this window was opened for the sign-in only, so that the page behind it keeps what was typed. */
  isPopup: boolean;
}

interface Discovery {
  authorization_endpoint: string;
  token_endpoint: string;
}

/** The channel on which a window that was opened for a sign-in tells the token to the page behind it. */
const CHANNEL = "parlour.sign-in";

/** Go to the provider's page to sign in: OpenID Connect's code flow with PKCE (RFC 7636). */
export async function startOidc(provider: Provider): Promise<void> {
  location.assign(await authorizationUrl(provider, randomText(), false));
}

/** Sign in at the provider in a window of its own and return the token, so that this page keeps what was typed. */
export async function oidcInWindow(provider: Provider): Promise<string> {
  const popup = window.open("about:blank", "parlour-sign-in", "popup,width=520,height=680");
  if (!popup) throw failed("the browser blocked the window");
  const state = randomText();
  const channel = new BroadcastChannel(CHANNEL);
  try {
    popup.location.assign(await authorizationUrl(provider, state, true, popup.sessionStorage));
    return await new Promise<string>((resolve, reject) => {
      channel.onmessage = ({ data }: MessageEvent<{ state: string; token?: string; problem?: string }>) => {
        if (data.state !== state) return;
        if (data.token) resolve(data.token);
        else reject(failed(data.problem ?? "it sent no token"));
      };
      const watch = setInterval(() => {
        if (!popup.closed) return;
        clearInterval(watch);
        setTimeout(() => reject(failed("its window was closed")), 500);
      }, 500);
    });
  } finally {
    channel.close();
  }
}

async function authorizationUrl(
  provider: Provider,
  state: string,
  isPopup: boolean,
  storage: Storage = sessionStorage,
): Promise<string> {
  const { authorization_endpoint: endpoint } = await discover(provider.issuer);
  const verifier = randomText();
  const pending: Pending = { ...provider, verifier, state, hash: location.hash, isPopup };
  storage.setItem(KEY, JSON.stringify(pending));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri: redirectUri(),
    scope: "openid profile",
    state,
    code_challenge: await challenge(verifier),
    code_challenge_method: "S256",
  });
  return `${endpoint}?${query.toString()}`;
}

/** Complete a sign-in that the provider sent back here; null if the address carries none, or a window was for it only. */
export async function completeOidc(): Promise<string | null> {
  const query = new URLSearchParams(location.search);
  const state = query.get("state");
  if (!state || !(query.has("code") || query.has("error"))) return null;
  const pending = readTab<Pending>(KEY);
  writeTab(KEY, null);
  history.replaceState(null, "", redirectUri() + (pending?.hash ?? ""));
  // The router read the address before, and replacing it is no event.
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  if (pending?.state !== state) throw failed("the answer does not belong to this browser tab");
  const answer = await readToken(pending, query).catch((error: unknown) => toProblem(error));
  if (pending.isPopup) {
    const told = typeof answer === "string" ? { token: answer } : { problem: answer.message };
    new BroadcastChannel(CHANNEL).postMessage({ state, ...told });
    window.close();
    return null;
  }
  if (typeof answer !== "string") throw answer;
  return answer;
}

/** The words for the error codes of RFC 6749 and OpenID Connect; a provider's own text is not shown as ours. */
const REFUSALS: Record<string, string> = {
  access_denied: "it refused, or you cancelled",
  login_required: "you are not signed in there",
  temporarily_unavailable: "it is busy",
  server_error: "it has a fault",
};

async function readToken(pending: Pending, query: URLSearchParams): Promise<string> {
  const code = query.get("code");
  if (!code) throw failed(REFUSALS[query.get("error") ?? ""] ?? "it refused");
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
  const answer = (await response.json().catch(() => ({}))) as { id_token?: string };
  if (!response.ok || !answer.id_token) throw failed(`it sent no token (status ${response.status})`);
  return answer.id_token;
}

async function discover(issuer: string): Promise<Discovery> {
  const response = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`).catch(() => null);
  if (!response?.ok) throw failed("it cannot be reached");
  return (await response.json()) as Discovery;
}

function failed(reason: string): Problem {
  return new Problem(0, "sign_in", `The sign-in provider did not sign you in: ${reason}. Try again.`);
}

/** The console's own address without a file name, which is registered at the provider. */
function redirectUri(): string {
  return new URL("./", location.origin + location.pathname).href;
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
