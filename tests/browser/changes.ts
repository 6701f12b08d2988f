import { randomUUID } from "node:crypto";

import type { Schema } from "./api.ts";

/** Return a page with one change of yesterday. The offline model changes no records, so that it is made up. */
export function changes(isUndone: boolean): Schema["ChangePageView"] {
  return {
    changes: [
      {
        id: randomUUID(),
        action: "update",
        agent_name: "Site desk",
        at: new Date(Date.now() - 26 * 3_600_000).toISOString(),
        by: "agent:site-desk",
        by_name: "Site desk",
        can_undo: !isUndone,
        is_deleted: false,
        other: null,
        properties: [{ property: "state", before: "watched", after: "closed" }],
        record: { handle: "risk/R-03", name: "Settlement of the strip footing at C4" },
        relation: "",
        session_id: randomUUID(),
        turn_id: randomUUID(),
        undone_at: isUndone ? new Date().toISOString() : null,
      },
    ],
    next_cursor: "",
  };
}
