import { Page } from "../../ui/Page";

export default function ConversationsSection() {
  return <Page title="Conversations">{null}</Page>;
}
