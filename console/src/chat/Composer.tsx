import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { count } from "../ui/format";
import { acceptedTypes } from "./attachments";
import type { ChatStore } from "./chat_store";
import type { Conversation } from "./conversation";
import { AttachmentName } from "./SentBubble";

/** Characters, as the API counts them. */
const MAX_CHARS = 8_000;
/** Pixels: six lines or so. */
const MAX_HEIGHT = 160;

interface ComposerProps {
  store: ChatStore;
  conversation: Conversation;
  agentName: string;
}

/** Where a message is written and files are attached. */
export function Composer({ store, conversation, agentName }: ComposerProps) {
  const files = store.files.value;
  const refused = store.refused.value;
  const text = store.draft.value;
  const length = [...text.trim()].length;
  const notice = conversation.notice.value;
  const submit = () => {
    if (!(text.trim() || files.length) || length > MAX_CHARS || conversation.isLoading.value) return;
    store.send();
  };
  return (
    <form class="chat-composer" onSubmit={(event) => (event.preventDefault(), submit())}>
      {notice && (
        <Dismissible onDismiss={() => (conversation.notice.value = null)}>
          {notice.text}{" "}
          {notice.canReconnect && (
            <Button kind="link" onClick={() => void conversation.reconnect()}>
              Reconnect
            </Button>
          )}
        </Dismissible>
      )}
      {refused.length > 0 && (
        <Dismissible onDismiss={() => (store.refused.value = [])}>{refused.join(" ")}</Dismissible>
      )}
      {length > MAX_CHARS && (
        <p class="notice" role="alert">
          This message has {count(length)} characters; the limit is {count(MAX_CHARS)}. Shorten it or send it in parts.
        </p>
      )}
      {files.length > 0 && (
        <ul class="chat-tray" aria-label="Attachments">
          {files.map((file) => (
            <li key={file}>
              <AttachmentName attachment={file} />
              <Button
                icon="close"
                aria-label={`Remove ${file.name}`}
                onClick={() => (store.files.value = store.files.value.filter((other) => other !== file))}
              />
            </li>
          ))}
        </ul>
      )}
      <div class="chat-box">
        <label class="chat-clip" title="Attach images or text files">
          <Icon name="clip" />
          <span class="visually-hidden">Attach images or text files</span>
          <input
            type="file"
            class="visually-hidden"
            multiple
            accept={acceptedTypes()}
            onChange={(event) => {
              const input = event.currentTarget;
              void store.addFiles([...(input.files ?? [])]).then(() => (input.value = ""));
            }}
          />
        </label>
        <MessageField
          label={`Message to ${agentName}`}
          placeholder={`Write to ${agentName}`}
          value={text}
          onInput={(value) => (store.draft.value = value)}
          onSubmit={submit}
        />
        {conversation.runningTurn.value && (
          <Button class="chat-send" icon="stop" aria-label="Stop the reply" onClick={() => void conversation.stop()} />
        )}
        <Button kind="solid" type="submit" class="chat-send" icon="arrowUp" aria-label="Send" />
      </div>
    </form>
  );
}

interface MessageFieldProps {
  label: string;
  placeholder: string;
  value: string;
  onInput: (value: string) => void;
  onSubmit: () => void;
}

/** A text field that grows with its text. Enter sends; Shift and Enter begin a line. */
export function MessageField({ label, placeholder, value, onInput, onSubmit }: MessageFieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (!field.current) return;
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(field.current.scrollHeight, MAX_HEIGHT)}px`;
  }, [value]);
  return (
    <textarea
      ref={field}
      class="message-field"
      rows={1}
      aria-label={label}
      placeholder={placeholder}
      autocomplete="off"
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        // An input method's own Enter completes a word.
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        onSubmit();
      }}
    />
  );
}

function Dismissible({ children, onDismiss }: { children: ComponentChildren; onDismiss: () => void }) {
  return (
    <div class="notice chat-notice" role="alert">
      <p>{children}</p>
      <Button icon="close" aria-label="Dismiss" onClick={onDismiss} />
    </div>
  );
}
