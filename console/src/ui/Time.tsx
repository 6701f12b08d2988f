import { ago, dateTime } from "./format";

/** A moment as "5 min. ago", with the exact time as its title. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at)}
    </time>
  );
}
