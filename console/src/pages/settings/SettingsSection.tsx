import { Page } from "../../ui/Page";

export default function SettingsSection() {
  return <Page title="Settings">{null}</Page>;
}
