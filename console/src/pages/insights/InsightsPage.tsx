import { Page } from "../../ui/Page";

export default function InsightsPage() {
  return <Page title="Insights">{null}</Page>;
}
