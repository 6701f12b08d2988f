import { useEffect } from "preact/hooks";
import { hasRole } from "../../api/sign_in";
import { navigate, to } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { Page } from "../../ui/Page";
import { EmptyState } from "../../ui/states";
import { isId } from "./address_ids";
import { ConversationListPage } from "./ConversationListPage";
import { ConversationPage } from "./ConversationPage";
import "./conversations.css";
import { OpenedConversationPage, ViewersOnly } from "./OpenedConversationPage";
import { PeoplePage } from "./people/PeoplePage";
import { PersonPage } from "./people/PersonPage";
import { PromptPage } from "./prompt/PromptPage";

/** Conversations, the prompts of their turns, and the people who talk to the agents. */
export default function ConversationsSection({ route }: PageProps) {
  const [first, id, part, turnId] = route.path;
  const isOldAddress = first === "memory";
  useEffect(() => {
    if (isOldAddress) navigate(to(["people", ...(id ? [id] : [])], Object.fromEntries(route.query)), { replace: true });
  }, [isOldAddress, id, route.query]);
  if (isOldAddress) return null;
  const isWrong = (id && !isId(id)) || (part && !(part === "prompt" && isId(turnId)));
  if (isWrong) return <NotFound section={first === "people" ? "people" : "conversations"} />;
  if (!hasRole("viewer")) {
    return id && first === "conversations" ? (
      <OpenedConversationPage key={id} sessionId={id} route={route} />
    ) : (
      <ViewersOnly />
    );
  }
  if (first === "people") return id ? <PersonPage key={id} userId={id} /> : <PeoplePage route={route} />;
  if (id && part === "prompt" && turnId) return <PromptPage sessionId={id} turnId={turnId} route={route} />;
  return id ? <ConversationPage key={id} sessionId={id} route={route} /> : <ConversationListPage route={route} />;
}

function NotFound({ section }: { section: "people" | "conversations" }) {
  const isPerson = section === "people";
  return (
    <Page
      title={isPerson ? "Person" : "Conversation"}
      back={{ href: to([section]), label: isPerson ? "All people" : "All conversations" }}
    >
      <EmptyState icon="search" title={isPerson ? "There is no such person" : "There is no such conversation"}>
        Check the address, or <a href={to([section])}>choose from the list</a>.
      </EmptyState>
    </Page>
  );
}
