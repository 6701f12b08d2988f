import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { isExpired } from "../api/expiry";
import { Button } from "./Button";
import { Icon } from "./Icon";
import type { IconName } from "./icons";
import type { PagedResource, Resource } from "./resource";

/** What a list shows when it is empty: a title, what will appear here and what to do. */
export function EmptyState({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children && <div class="soft">{children}</div>}
    </div>
  );
}

/** An error beside the control that caused it. */
export function Notice({ problem }: { problem: Problem | undefined }) {
  if (!problem) return null;
  return (
    <p class="notice" role="alert">
      {problem.message}
    </p>
  );
}

const TITLES: Record<number, string> = {
  401: "Your sign-in has expired",
  403: "You may not see this",
  404: "This does not exist",
  409: "This changed meanwhile",
  429: "Too many requests",
};

const ADVICE: Record<number, string> = {
  401: "Sign in again. Nothing you typed is lost.",
  403: "Ask an administrator for the role, or sign in as somebody else.",
  404: "It was deleted, or the address is wrong. Go back and choose from the list.",
  409: "Reload to see the current state, then repeat your change.",
  429: "Wait a moment, then try again.",
};

/** What a page shows when its data could not be loaded. */
export function ErrorState({ problem, reload }: { problem: Problem; reload?: () => void }) {
  const title =
    problem.code === "unreachable"
      ? "The server cannot be reached"
      : (TITLES[problem.status] ?? (problem.status >= 500 ? "Parlour cannot answer now" : "Couldn’t load this"));
  return (
    <div class="empty" role="alert">
      <Icon name="alert" />
      <h2>{title}</h2>
      <p class="soft">{problem.message}</p>
      {ADVICE[problem.status] && <p class="soft">{ADVICE[problem.status]}</p>}
      {problem.status === 401 ? (
        <Button kind="solid" onClick={() => (isExpired.value = true)}>
          Sign in
        </Button>
      ) : (
        reload && (
          <Button icon="refresh" onClick={reload}>
            Try again
          </Button>
        )
      )}
    </div>
  );
}

/** Grey bars in the place of content that is being loaded, so that nothing jumps when it arrives. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} />
      ))}
    </div>
  );
}

interface LoadedProps<Data> {
  of: Resource<Data>;
  rows?: number;
  children: (data: Data) => ComponentChildren;
}

/** Show data once it is there; before that a skeleton, and an error with a way to try again. */
export function Loaded<Data>({ of, rows, children }: LoadedProps<Data>) {
  if (of.data === undefined) {
    return of.problem ? <ErrorState problem={of.problem} reload={of.reload} /> : <Skeleton rows={rows ?? 6} />;
  }
  return (
    <>
      <Notice problem={of.problem} />
      {children(of.data)}
    </>
  );
}

/** The button below a list that has more pages. */
export function LoadMore({ pages }: { pages: PagedResource<unknown> }) {
  if (!pages.hasMore) return null;
  return (
    <p class="load-more">
      <Button onClick={pages.loadMore} disabled={pages.isLoadingMore}>
        {pages.isLoadingMore ? "Loading …" : "Show more"}
      </Button>
    </p>
  );
}
