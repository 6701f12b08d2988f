import { toChat, toTalk } from "../../chat/address";
import { Chat } from "../../chat/Chat";
import { useConsoleChat } from "../../chat/use_console_chat";
import { navigate } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { LinkButton } from "../../ui/Button";
import { Page } from "../../ui/Page";
import "./talk.css";

/** A conversation with an agent: a member talks as themselves, with what they may see and change. */
export default function TalkPage({ route }: PageProps) {
  const store = useConsoleChat(route);
  const agent = store.agent.value;
  return (
    <Page
      title="Talk to an agent"
      actions={
        agent && (
          <LinkButton icon="chat" href={toChat(agent)}>
            Talk as a visitor
          </LinkButton>
        )
      }
    >
      <div class="talk">
        <Chat
          store={store}
          titleLevel="h2"
          onPick={(picked) => navigate(toTalk(picked))}
          onLeaveRecord={() => agent && navigate(toTalk(agent), { replace: true })}
        />
      </div>
    </Page>
  );
}
