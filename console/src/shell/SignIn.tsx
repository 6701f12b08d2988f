import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { isExpired } from "../api/expiry";
import { oidcInWindow, startOidc, type Provider } from "../api/oidc";
import type { Problem } from "../api/problem";
import { choice, signIn, signInWith } from "../api/sign_in";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Field } from "../ui/Field";
import { useAction } from "../ui/resource";
import { Notice } from "../ui/states";
import { Mark } from "./Mark";
import { settings } from "./settings";

/** Why the last sign-in by a provider failed. */
export const signInProblem = signal<Problem | undefined>(undefined);

/** The page for readers who are not signed in. */
export function SignInPage() {
  const agents = settings.value?.bindings ?? [];
  return (
    <main class="sign-in">
      <Mark />
      <h1>{choice.value ? "Choose a tenant" : "Sign in to Parlour"}</h1>
      {choice.value ? <TenantChoice /> : <SignInForm signInAt={startOidc} />}
      {agents.length > 0 && (
        <p class="soft">
          You want to talk to an agent? <a href="chat.html">Open the chat</a>
        </p>
      )}
    </main>
  );
}

/** The question for a new sign-in when the present one expired. The page below keeps what was typed. */
export function ExpiredDialog() {
  const inWindow = async (provider: Provider) => signInWith(await oidcInWindow(provider));
  return (
    <Dialog title="Your sign-in has expired" onClose={() => (isExpired.value = false)}>
      <p>Sign in again to continue. What you typed in this page is kept.</p>
      <SignInForm signInAt={inWindow} />
    </Dialog>
  );
}

function SignInForm({ signInAt }: { signInAt: (provider: Provider) => Promise<void> }) {
  const [token, setToken] = useState("");
  const withKey = useAction(() => signInWith(token.trim()));
  const withProvider = useAction(signInAt);
  const providers = settings.value?.sign_in ?? [];
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        withKey.run();
      }}
    >
      {providers.map((provider) => (
        <Button
          key={provider.issuer}
          kind="solid"
          disabled={withProvider.isRunning}
          onClick={() => withProvider.run(provider)}
        >
          Continue with {provider.name}
        </Button>
      ))}
      <Field label="API key or member token" hint="Kept in this browser tab until you sign out or close it.">
        {(attributes) => (
          <input
            {...attributes}
            type="password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            autocomplete="off"
            required
          />
        )}
      </Field>
      <Notice problem={withKey.problem ?? withProvider.problem ?? signInProblem.value} />
      <Button kind={providers.length ? "quiet" : "solid"} type="submit" disabled={withKey.isRunning}>
        Sign in with the key
      </Button>
    </form>
  );
}

/** The tenants that a sign-in may enter. */
function TenantChoice() {
  const enter = useAction(signIn);
  const found = choice.value;
  if (!found) return null;
  return (
    <div class="form">
      {found.tenants.map(({ slug, display_name }) => (
        <Button key={slug} disabled={enter.isRunning} onClick={() => enter.run({ token: found.token, tenant: slug })}>
          {display_name}
        </Button>
      ))}
      <Notice problem={enter.problem} />
      <Button kind="link" onClick={() => (choice.value = null)}>
        Sign in as somebody else
      </Button>
    </div>
  );
}
