import { Page } from "../../ui/Page";

export default function CostsPage() {
  return <Page title="Costs">{null}</Page>;
}
