import type { Schema } from "../../../api/client";
import { Badge } from "../../../ui/Badge";

/** Who brought a document: the pack, or people here. */
export function OriginBadge({ document }: { document: Schema["DocumentView"] }) {
  if (document.left_pack_at) return <Badge tone="warning">No longer in the pack</Badge>;
  return document.origin === "pack" ? <Badge>From the pack</Badge> : <Badge tone="accent">Written here</Badge>;
}
