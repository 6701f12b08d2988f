import { Page } from "../../ui/Page";

export default function AgentsSection() {
  return <Page title="Agents">{null}</Page>;
}
