import type { Schema } from "../../../api/client";
import { plural } from "../../../ui/format";

type Report = Schema["ErasureReportView"];

/** The tables that a reader knows by a name of their own, the most important first. Others are counted together. */
const NAMES: readonly (readonly [string, string, string])[] = [
  ["sessions", "conversation", "conversations"],
  ["messages", "message", "messages"],
  ["facts", "fact", "facts"],
  ["episodes", "remembered event", "remembered events"],
  ["attachments", "attachment", "attachments"],
  ["files", "file", "files"],
  ["documents", "document", "documents"],
  ["entities", "record", "records"],
];

/** What happens to rows: in the report of an erasure, and before it. */
const OUTCOMES = {
  deleted: ["Deleted", "Will be deleted"],
  redacted: ["Left without their text", "Will lose their text"],
  restored: ["Restored to what they were before", "Will be restored to what they were before"],
  kept: ["Kept", "Will be kept"],
} as const;

/** Return what an erasure does, action by action, in words: "Deleted: 1 conversation, 12 messages and 2 facts". */
export function erasureWords(report: Report): readonly string[] {
  const actions = Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[];
  return actions.flatMap((action) => {
    const amounts = countByTable(report, action);
    const named = NAMES.flatMap(([table, one, many]) =>
      amounts.has(table) ? [plural(amounts.get(table) ?? 0, one, many)] : [],
    );
    const rest = [...amounts]
      .filter(([table]) => !NAMES.some(([name]) => name === table))
      .reduce((sum, [, amount]) => sum + amount, 0);
    const words = [...named, ...(rest ? [`${plural(rest, "other entry", "other entries")} made from them`] : [])];
    return words.length ? [`${OUTCOMES[action][report.dry_run ? 1 : 0]}: ${words.join(", ")}.`] : [];
  });
}

function countByTable({ rows }: Report, action: string): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const row of rows) if (row.action === action) amounts.set(row.table, (amounts.get(row.table) ?? 0) + row.count);
  return amounts;
}
