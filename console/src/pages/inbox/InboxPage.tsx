import { Page } from "../../ui/Page";

export default function InboxPage() {
  return <Page title="Inbox">{null}</Page>;
}
