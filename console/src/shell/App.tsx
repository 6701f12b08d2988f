import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isExpired } from "../api/expiry";
import { toProblem, type Problem } from "../api/problem";
import { signedIn } from "../api/sign_in";
import { Page } from "../ui/Page";
import { EmptyState, ErrorState, Skeleton } from "../ui/states";
import { CommandPalette } from "./CommandPalette";
import { Navigation } from "./Navigation";
import { navigate, route } from "./router";
import { openedSection, sectionOf, SECTIONS, visibleSections, type PageProps } from "./sections";
import { loadSettings, settings } from "./settings";
import { ExpiredDialog, SignInPage } from "./SignIn";

/** The operators' console: the navigation and the page of the address. */
export function App() {
  if (!signedIn.value) return <SignInPage />;
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}
      >
        Skip to the page
      </a>
      <Navigation />
      <main id="main" tabIndex={-1}>
        <CurrentPage key={signedIn.value.tenant} />
      </main>
      <CommandPalette />
      {isExpired.value && <ExpiredDialog />}
    </div>
  );
}

function CurrentPage() {
  const isLocal = settings.value?.local ?? false;
  const section = openedSection(route.value, isLocal);
  const first = visibleSections(false)[0]?.key;
  const isRoot = !route.value.path.length;
  useEffect(() => {
    if (isRoot && first) navigate(`#/${first}`, { replace: true });
  }, [isRoot, first]);
  if (section) return <LazyPage key={section.key} load={section.load} />;
  if (isRoot && first) return <Skeleton />;
  const isWithheld = isRoot || sectionOf(route.value, SECTIONS);
  return (
    <Page title={isWithheld ? "You may not see this" : "There is no such page"}>
      {isWithheld ? (
        <EmptyState icon="key" title={first ? "Your role is not enough" : "You have no role yet"}>
          <p>Ask an administrator for the role viewer, with which you can read everything here.</p>
        </EmptyState>
      ) : (
        <EmptyState icon="search" title="The address is wrong">
          <p>Check the address, or choose a section from the navigation.</p>
        </EmptyState>
      )}
    </Page>
  );
}

function LazyPage({ load }: { load: () => Promise<{ default: ComponentType<PageProps> }> }) {
  const [Loaded, setLoaded] = useState<ComponentType<PageProps>>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    let isCurrent = true;
    load()
      .then((page) => isCurrent && setLoaded(() => page.default))
      .catch((error: unknown) => isCurrent && setProblem(toProblem(error)));
    return () => {
      isCurrent = false;
    };
  }, [load]);
  // A browser does not load a script again that failed once, so the page reloads as soon as the server answers.
  const restart = () =>
    loadSettings()
      .then(() => location.reload())
      .catch((error: unknown) => setProblem(toProblem(error)));
  if (problem) return <ErrorState problem={problem} reload={() => void restart()} />;
  return Loaded ? <Loaded route={route.value} /> : <Skeleton rows={8} />;
}
