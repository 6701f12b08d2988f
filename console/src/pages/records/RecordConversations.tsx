import { body } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { to } from "../../shell/router";
import { useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { Time } from "../../ui/Time";

const SHOWN = 5;

/** The newest conversations about a record. */
export function RecordConversations({ handle }: { handle: string }) {
  return hasRole("viewer") ? <Conversations handle={handle} /> : null;
}

function Conversations({ handle }: { handle: string }) {
  const found = useResource(
    (signal) => body(api.GET("/v1/conversations", { params: { query: { record: handle, limit: SHOWN } }, signal })),
    [handle],
  );
  return (
    <section class="card">
      <h2>Conversations</h2>
      <Loaded of={found} rows={2}>
        {({ conversations, next_cursor }) =>
          conversations.length ? (
            <>
              <ul class="records-plain">
                {conversations.map(({ id, title, agent, last_active_at }) => (
                  <li key={id}>
                    <a href={to(["conversations", id])}>{title || "Conversation"}</a>{" "}
                    <span class="soft">
                      {agent.name} · <Time at={last_active_at} />
                    </span>
                  </li>
                ))}
              </ul>
              {next_cursor && <a href={to(["conversations"], { record: handle })}>All conversations about it</a>}
            </>
          ) : (
            <p class="soft">None yet.</p>
          )
        }
      </Loaded>
    </section>
  );
}
