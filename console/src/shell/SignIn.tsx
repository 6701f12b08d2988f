import { useState } from "preact/hooks";
import { isExpired } from "../api/expiry";
import { startOidc, type Provider } from "../api/oidc";
import { type Problem } from "../api/problem";
import { signal } from "@preact/signals";
import { signedIn, signIn } from "../api/sign_in";
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
      <h1>Sign in to Parlour</h1>
      <SignInForm />
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
  return (
    <Dialog title="Your sign-in has expired" onClose={() => (isExpired.value = false)}>
      <p>Sign in again to continue. What you typed in this page is kept.</p>
      <SignInForm />
    </Dialog>
  );
}

function SignInForm() {
  const [tenant, setTenant] = useState(signedIn.value?.tenant ?? settings.value?.bindings[0]?.tenant ?? "");
  const [token, setToken] = useState("");
  const withKey = useAction(() => signIn({ tenant: tenant.trim(), token: token.trim() }));
  const withProvider = useAction((provider: Provider) => startOidc(provider, tenant.trim()));
  const providers = settings.value?.sign_in ?? [];
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        withKey.run();
      }}
    >
      <Field label="Tenant" hint="Its short name, for example northbank.">
        {(attributes) => (
          <input
            {...attributes}
            value={tenant}
            onInput={(event) => setTenant(event.currentTarget.value)}
            autocomplete="organization"
            spellcheck={false}
            required
          />
        )}
      </Field>
      {providers.map((provider) => (
        <Button
          key={provider.issuer}
          kind="solid"
          disabled={!tenant.trim() || withProvider.isRunning}
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
