import type { Client } from "openapi-fetch";
import { body, type Schema } from "../api/client";
import type { paths } from "../api/schema";
import { ConfirmButton } from "../ui/Dialog";
import { label } from "./approval";

interface RevokeGrantProps {
  grant: Schema["GrantView"];
  /** The API client with the credentials of the person who revokes. */
  api: Client<paths>;
  onDone: () => void;
}

/** The button that ends a permission to run a tool without a question. */
export function RevokeGrant({ grant, api, onDone }: RevokeGrantProps) {
  const work = async () => {
    await body(api.DELETE("/v1/approvals/grants/{grant_id}", { params: { path: { grant_id: grant.id } } }));
    onDone();
  };
  return (
    <ConfirmButton
      label="Revoke"
      aria-label={`Revoke ${label(grant.tool)}`}
      title={`Revoke “${label(grant.tool)}”?`}
      confirmLabel="Revoke"
      work={work}
    >
      <p>The next call of this tool asks a person again. Calls that are being done go on.</p>
    </ConfirmButton>
  );
}
