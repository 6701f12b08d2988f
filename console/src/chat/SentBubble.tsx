import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { bytes } from "../ui/format";
import type { ChatStore } from "./chat_store";
import type { Conversation } from "./conversation";
import type { AttachmentLabel, SentMessage } from "./entries";

interface SentBubbleProps {
  message: SentMessage;
  store: ChatStore;
  conversation: Conversation;
}

/** A message of the visitor; one that could not be sent can be sent again, changed or removed. */
export function SentBubble({ message, store, conversation }: SentBubbleProps) {
  const state = message.state.value;
  return (
    <div class={`chat-sent ${state}`}>
      <p>
        <span class="visually-hidden">You: </span>
        {message.text}
      </p>
      {message.attachments.length > 0 && (
        <ul class="chat-attachments" aria-label="Attachments">
          {message.attachments.map((attachment, index) => (
            <li key={index}>
              <AttachmentName attachment={attachment} />
            </li>
          ))}
        </ul>
      )}
      {state === "waiting" && <p class="chat-state">Answered after the reply that is being written</p>}
      {state === "failed" && (
        <p class="chat-state buttons">
          Not sent.
          <Button kind="link" onClick={() => conversation.retry(message)}>
            Try again
          </Button>
          <Button kind="link" onClick={() => store.edit(message)}>
            Edit
          </Button>
          <Button kind="link" onClick={() => conversation.remove(message)}>
            Remove
          </Button>
        </p>
      )}
    </div>
  );
}

/** A file by its icon, name and size. */
export function AttachmentName({ attachment }: { attachment: AttachmentLabel }) {
  return (
    <span class="chat-file" title={attachment.name}>
      <Icon name={attachment.kind === "image" ? "image" : "file"} />
      <b>{attachment.name}</b>
      {attachment.size_bytes > 0 && <span class="soft">{bytes(attachment.size_bytes)}</span>}
    </span>
  );
}
