import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { toRecord, type Route } from "../../shell/router";
import { Page } from "../../ui/Page";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { isId } from "./address_ids";
import { channelName } from "./state_words";
import { findTarget, useThread } from "./thread";
import { ThreadMessages } from "./ThreadMessages";

/** A conversation that its user opened to editors: its messages, without the trace, which viewers see. */
export function OpenedConversationPage({ sessionId, route }: { sessionId: string; route: Route }) {
  const asked = route.query.get("message");
  const target = { messageId: isId(asked) ? asked : null, turnId: null };
  const path = { session_id: sessionId };
  const session = useResource(
    (signal) => body(api.GET("/v1/sessions/{session_id}", { params: { path }, signal })),
    [sessionId],
  );
  const thread = useThread(sessionId, target);
  const about = session.data?.entity;
  return (
    <Page
      title={session.data?.title || "Conversation"}
      lead={
        session.data && (
          <>
            On {channelName(session.data.channel)}
            {about && (
              <>
                {" "}
                about <a href={toRecord(about.handle)}>{about.name}</a>
              </>
            )}
          </>
        )
      }
    >
      <Loaded of={session}>
        {() => (
          <Loaded of={thread}>
            {(found) => (
              <ThreadMessages
                thread={thread}
                person="User"
                agent="Agent"
                foundId={target.messageId}
                firstShownId={findTarget(found.messages, target)?.id ?? null}
                turnId={null}
                onChooseTurn={null}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

/** What an editor sees in place of the lists, which only viewers may read. */
export function ViewersOnly() {
  return (
    <Page title="Conversations">
      <EmptyState icon="chat" title="Viewers see all conversations">
        You may open the conversations about a record from the record’s page. Ask an administrator for the role viewer
        to see all.
      </EmptyState>
    </Page>
  );
}
