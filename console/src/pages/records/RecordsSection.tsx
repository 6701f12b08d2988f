import { Page } from "../../ui/Page";

export default function RecordsSection() {
  return <Page title="Records">{null}</Page>;
}
