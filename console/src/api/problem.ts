/** An error that the API answered, or the reason why there was no answer. */
export class Problem extends Error {
  constructor(
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number,
    readonly code: string,
    message: string,
    /** The fields, or lines of a pack, that are wrong. */
    readonly fields: readonly FieldProblem[] = [],
  ) {
    super(message);
  }
}

export interface FieldProblem {
  field: string;
  message: string;
  /** Of a pack's mistakes only. */
  file?: string;
  line?: number;
}

/** What is said where the server does not answer. */
export const UNREACHABLE =
  "Parlour does not answer. Check your connection, and whether the server runs. Nothing that you typed is lost.";

/** How Chromium, Firefox, Safari and Vite say that a request, a page's script or its style sheet did not arrive. */
const NOT_LOADED =
  /failed to fetch|networkerror|network error|load failed|loading dynamically imported|importing a module script|unable to preload/i;

/** Return an error as a Problem, whatever it was. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Error && NOT_LOADED.test(error.message)) return new Problem(0, "unreachable", UNREACHABLE);
  console.error(error);
  return new Problem(0, "page", "This page has a fault. Reload it and try again.");
}

/** Return the Problem that an answer describes; `body` is the API's error, if there is one. */
export function problemOf(status: number, body: unknown): Problem {
  const error = isErrorBody(body) ? body.error : undefined;
  return new Problem(
    status,
    error?.code ?? "unknown",
    error?.message ?? `Parlour answered with status ${status}. Try again in a moment.`,
    error?.problems ?? [],
  );
}

function isErrorBody(body: unknown): body is { error: { code: string; message: string; problems?: FieldProblem[] } } {
  return typeof body === "object" && body !== null && "error" in body;
}
