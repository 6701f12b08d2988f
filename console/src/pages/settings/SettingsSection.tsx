import { hasRole, me } from "../../api/sign_in";
import { to } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { Page, Tabs } from "../../ui/Page";
import { EmptyState } from "../../ui/states";
import { AuditLog } from "./AuditLog";
import { EmbeddingModel } from "./EmbeddingModel";
import { Keys } from "./Keys";
import { Limits } from "./Limits";
import { Members } from "./Members";
import { Pack } from "./Pack";
import { Permissions } from "./Permissions";
import { Queues } from "./Queues";
import { TenantSettings } from "./TenantSettings";
import "./settings.css";

const PARTS = [
  { key: "tenant", label: "Tenant", Part: TenantSettings, isVisible: () => true },
  { key: "members", label: "Members", Part: Members, isVisible: () => hasRole("admin") },
  { key: "keys", label: "API keys", Part: Keys, isVisible: () => hasRole("admin") },
  { key: "pack", label: "Pack", Part: Pack, isVisible: () => hasRole("admin") },
  { key: "permissions", label: "Permissions", Part: Permissions, isVisible: () => true },
  { key: "limits", label: "Limits", Part: Limits, isVisible: () => true },
  { key: "embedding", label: "Embedding", Part: EmbeddingModel, isVisible: () => true },
  { key: "audit", label: "Audit log", Part: AuditLog, isVisible: () => true },
  { key: "queues", label: "Queues", Part: Queues, isVisible: () => me.value?.kind === "operator" },
];

/** The settings of the tenant, a part for each subject. */
export default function SettingsSection({ route }: PageProps) {
  const key = route.path[1] ?? "tenant";
  const parts = PARTS.filter(({ isVisible }) => isVisible());
  const current = parts.find((part) => part.key === key);
  return (
    <Page title="Settings">
      <Tabs
        label="Settings"
        tabs={parts.map((part) => ({
          href: to(["settings", part.key]),
          label: part.label,
          isCurrent: part === current,
        }))}
      />
      {current ? (
        <current.Part />
      ) : (
        <EmptyState icon="gear" title="There is no such part of the settings">
          <p>Choose one from the list above. Some parts need the role admin.</p>
        </EmptyState>
      )}
    </Page>
  );
}
