import { Page } from "../../ui/Page";

export default function PlaygroundPage() {
  return <Page title="Playground">{null}</Page>;
}
