/** The periods that the list of conversations offers. */
export const PERIODS = {
  "": "Any time",
  today: "Today",
  yesterday: "Yesterday",
  week: "Last 7 days",
  dates: "Choose dates",
} as const;

export type Period = keyof typeof PERIODS;

interface Interval {
  since?: string;
  until?: string;
}

/** Return the period of an address; `since` and `until` without a period are dates. */
export function periodOf(query: URLSearchParams): Period {
  const named = query.get("period") ?? "";
  if (named in PERIODS && named !== "") return named as Period;
  return query.has("since") || query.has("until") ? "dates" : "";
}

/** Return the moments of a period in the reader's time zone, as the API takes them. */
export function intervalOf(query: URLSearchParams, now: Date): Interval {
  switch (periodOf(query)) {
    case "today":
      return { since: midnight(now, 0) };
    case "yesterday":
      return { since: midnight(now, -1), until: midnight(now, 0) };
    case "week":
      return { since: midnight(now, -6) };
    case "dates":
      return { ...dated("since", query, 0), ...dated("until", query, 1) };
    default:
      return {};
  }
}

/** A date means the whole day, so the end of a period is the midnight after it. A moment stays as it is. */
function dated(name: "since" | "until", query: URLSearchParams, days: number): Interval {
  const text = query.get(name) ?? "";
  const day = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (day) return { [name]: midnight(new Date(Number(day[1]), Number(day[2]) - 1, Number(day[3])), days) };
  return Number.isNaN(Date.parse(text)) ? {} : { [name]: new Date(text).toISOString() };
}

function midnight(at: Date, days: number): string {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + days).toISOString();
}
