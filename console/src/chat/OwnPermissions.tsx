import { label } from "../approvals/approval";
import { RevokeGrant } from "../approvals/RevokeGrant";
import { body } from "../api/client";
import { date } from "../ui/format";
import { useResource } from "../ui/resource";
import type { ChatStore } from "./chat_store";

/** What the visitor always allows; nothing where there is no such permission. */
export function OwnPermissions({ store }: { store: ChatStore }) {
  const identity = store.identity.value;
  const grants = useResource((signal) => body(store.api.GET("/v1/approvals/grants", { signal })), [identity]);
  if (!grants.data?.grants.length) return null;
  return (
    <>
      <h3>Always allowed</h3>
      <ul class="chat-memory">
        {grants.data.grants.map((grant) => (
          <li key={grant.id}>
            <p>
              <b>{label(grant.tool)}</b> <span class="soft">without a question until {date(grant.expires_at)}</span>
            </p>
            <div class="buttons">
              <RevokeGrant grant={grant} api={store.api} onDone={grants.reload} />
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}
