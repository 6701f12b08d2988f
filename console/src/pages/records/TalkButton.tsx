import { body } from "../../api/client";
import { api, hasRole, me } from "../../api/sign_in";
import { toConversationWith } from "../../chat/address";
import { LinkButton } from "../../ui/Button";
import { useResource } from "../../ui/resource";
import type { RecordType } from "./record_types";

interface TalkButtonProps {
  record: { handle: string; name: string };
  type: RecordType | undefined;
}

/** The way to a conversation about the record, with the agent that its type names, else the first one with a web chat. */
export function TalkButton({ record, type }: TalkButtonProps) {
  const tenant = me.value?.tenant ?? "";
  const agents = useResource(
    async (signal) => (hasRole("viewer") ? (await body(api.GET("/v1/bindings", { signal }))).bindings : []),
    [tenant],
  );
  const first = agents.data?.find((agent) => agent.door !== "private" && agent.is_open_to_caller);
  const slug = type?.chat_binding?.slug ?? (type?.chat_agent ? undefined : first?.slug);
  if (type?.chat_agent && !slug) return <span class="soft">Its type’s agent has no web chat.</span>;
  if (!slug) return null;
  return (
    <LinkButton
      kind="solid"
      icon="chat"
      href={toConversationWith({ tenant, slug }, { handle: record.handle, name: record.name })}
    >
      Talk about it
    </LinkButton>
  );
}
