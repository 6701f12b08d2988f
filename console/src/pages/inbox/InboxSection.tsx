import { isId } from "../conversations/address_ids";
import type { PageProps } from "../../shell/sections";
import "../conversations/conversations.css";
import "./inbox.css";
import { InboxPage } from "./InboxPage";
import { ThreadPage } from "./ThreadPage";

/** The inbox: conversations that people answer, and what else a person decides. */
export default function InboxSection({ route }: PageProps) {
  const id = route.path[1];
  return id && isId(id) ? <ThreadPage key={id} sessionId={id} /> : <InboxPage route={route} />;
}
