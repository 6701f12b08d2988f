import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../api/client";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";
import { Icon } from "../ui/Icon";
import { useAction, usePages } from "../ui/resource";
import { Loaded, LoadMore, Notice } from "../ui/states";
import { Time } from "../ui/Time";
import { LISTED, type ChatStore } from "./chat_store";
import { PhoneLink } from "./PhoneLink";

type Item = Schema["SessionListItemView"];
type Visibility = Schema["SessionVisibility"];

const VISIBILITY: Record<Visibility, string> = {
  private: "Private",
  role_gated: "Visible to editors",
  shared: "Visible to all members",
};

/** The visitor's conversations with the agent, pinned ones first. */
export function ConversationList({ store }: { store: ChatStore }) {
  const [isArchived, setArchived] = useState(false);
  const identity = store.identity.value;
  const agentName = store.agent.value?.name ?? "";
  const sessions = usePages(
    async (cursor, signal) => {
      const query = { archived: isArchived, limit: LISTED, cursor };
      const page = await body(store.api.GET("/v1/sessions", { params: { query }, signal }));
      return { items: page.sessions, next_cursor: page.next_cursor };
    },
    [identity, isArchived],
  );
  return (
    <>
      <header class="chat-panel-head">
        <h2>{isArchived ? "Archived" : "Conversations"}</h2>
        <Button kind="link" onClick={() => setArchived(!isArchived)}>
          {isArchived ? "Show active" : "Show archived"}
        </Button>
      </header>
      <Loaded of={sessions} rows={4}>
        {(items) => (
          <>
            {!items.length && <p class="soft">{isArchived ? "No archived conversations." : "No conversations yet."}</p>}
            <ul class="chat-list">
              {items.map((item) => (
                <ConversationItem key={item.id} item={item} store={store} onChange={sessions.reload} />
              ))}
            </ul>
            <LoadMore pages={sessions} />
            {!isArchived && (
              <div class="chat-panel-foot">
                <Button icon="book" onClick={() => (store.panel.value = "memory")}>
                  What {agentName} remembers about you
                </Button>
                <PhoneLink store={store} isLinked={items.some((item) => item.is_main)} />
                {store.visitor.value && (
                  <Button icon="signOut" onClick={() => store.signOut()}>
                    Sign out in this browser
                  </Button>
                )}
              </div>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

interface ItemProps {
  item: Item;
  store: ChatStore;
  /** Called after the conversation was changed. */
  onChange: () => void;
}

function ConversationItem({ item, store, onChange }: ItemProps) {
  const [isEdited, setEdited] = useState(false);
  const change = useAction(async (patch: Schema["SessionPatch"]) => {
    await body(
      store.api.PATCH("/v1/sessions/{session_id}", { params: { path: { session_id: item.id } }, body: patch }),
    );
    setEdited(false);
    onChange();
  });
  const name = nameOf(item);
  const isCurrent = store.conversation.value?.session.value?.session_id === item.id;
  if (isEdited) {
    return (
      <li>
        <ItemForm item={item} save={change.run} cancel={() => setEdited(false)} />
        <Notice problem={change.problem} />
      </li>
    );
  }
  const details = [
    item.entity?.name,
    item.is_main && "Web and WhatsApp",
    item.visibility !== "private" && "visible to others",
  ];
  return (
    <li aria-current={isCurrent || undefined}>
      <button type="button" class="chat-item" onClick={() => void store.visit(item)}>
        <span class="chat-item-name">
          {item.pinned && <Icon name="pin" />}
          {item.pinned && <span class="visually-hidden">Pinned: </span>}
          {name}
        </span>
        <Time at={item.last_active_at} />
        {details.some(Boolean) && <span class="chat-item-detail">{details.filter(Boolean).join(" · ")}</span>}
        <span class="chat-item-preview">{item.last_message_preview}</span>
      </button>
      <div class="chat-item-actions">
        <Button
          icon="pin"
          aria-pressed={item.pinned}
          aria-label={`${item.pinned ? "Unpin" : "Pin"}: ${name}`}
          disabled={change.isRunning}
          onClick={() => change.run({ pinned: !item.pinned })}
        />
        <Button icon="pen" aria-label={`Rename or share: ${name}`} onClick={() => setEdited(true)} />
        <Button
          icon={item.archived ? "undo" : "archive"}
          aria-label={`${item.archived ? "Restore" : "Archive"}: ${name}`}
          disabled={change.isRunning}
          onClick={() => change.run({ archived: !item.archived })}
        />
      </div>
      <Notice problem={change.problem} />
    </li>
  );
}

interface ItemFormProps {
  item: Item;
  save: (patch: Schema["SessionPatch"]) => void;
  cancel: () => void;
}

/** The title of a conversation, and who else reads it. */
function ItemForm({ item, save, cancel }: ItemFormProps) {
  const [title, setTitle] = useState(item.title);
  const [visibility, setVisibility] = useState(item.visibility as Visibility);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    cancel();
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const named = title.trim();
        save({
          ...(named && named !== item.title ? { title: named } : {}),
          ...(visibility === item.visibility ? {} : { visibility }),
        });
      }}
    >
      <Field label="Title">
        {(attributes) => (
          <input
            {...attributes}
            ref={field}
            onKeyDown={onKeyDown}
            value={title}
            maxLength={200}
            autocomplete="off"
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="Who can read it"
        hint="While others can read the conversation, nothing you say in it is remembered."
      >
        {(attributes) => (
          <select
            {...attributes}
            onKeyDown={onKeyDown}
            value={visibility}
            onChange={(event) => setVisibility(event.currentTarget.value as Visibility)}
          >
            {Object.entries(VISIBILITY).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <div class="buttons">
        <Button kind="solid" type="submit">
          Save
        </Button>
        <Button onClick={cancel}>Cancel</Button>
      </div>
    </form>
  );
}

/** A greeting makes no title. */
function nameOf(item: Item): string {
  if (item.title) return item.title;
  if (item.is_main) return "WhatsApp";
  return item.last_message_preview ? "Conversation" : "Empty conversation";
}
