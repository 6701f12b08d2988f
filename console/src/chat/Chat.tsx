import { useEffect, useState } from "preact/hooks";
import { ModelLine } from "../shell/ModelBadge";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/states";
import { AgentPicker } from "./AgentPicker";
import { inkOn, type Agent } from "./agent";
import type { ChatStore } from "./chat_store";
import "./chat.css";
import { Composer } from "./Composer";
import type { Conversation } from "./conversation";
import { pollConversation } from "./conversation_poll";
import { Face } from "./Face";
import { ConversationPanel } from "./ConversationPanel";
import { Thread } from "./Thread";

interface ChatProps {
  store: ChatStore;
  /** Called when the visitor picks another agent. */
  onPick: (agent: Agent) => void;
  /** Called when the conversation is no longer about the record of the address. */
  onLeaveRecord: () => void;
  /** Whether the agent's name is the title of the page, or of a part of it. */
  titleLevel?: "h1" | "h2";
}

/** The chat: who answers, the thread, what is written, and the visitor's other conversations. */
export function Chat({ store, onPick, onLeaveRecord, titleLevel: Title = "h1" }: ChatProps) {
  const conversation = store.conversation.value;
  const agent = store.agent.value;
  const [isOver, setOver] = useState(false);
  useEffect(() => (conversation ? pollConversation(conversation) : undefined), [conversation]);
  if (!conversation || !agent) return <Skeleton />;
  const isListed = store.panel.value !== null;
  const restart = () => {
    store.restart();
    onLeaveRecord();
  };
  const takeFiles = (event: Event, files: FileList | undefined) => {
    setOver(false);
    if (!files?.length) return;
    event.preventDefault();
    void store.addFiles([...files]);
  };
  return (
    <section
      class={["chat", isListed && "listing", isOver && "over", agent.colour && "branded"].filter(Boolean).join(" ")}
      style={agent.colour ? { "--brand": agent.colour, "--brand-ink": inkOn(agent.colour) } : {}}
      aria-label={`Chat with ${agent.name}`}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false);
      }}
      onDrop={(event) => takeFiles(event, event.dataTransfer?.files)}
      onPaste={(event) => takeFiles(event, event.clipboardData?.files)}
    >
      <header class="chat-head">
        {agent.face && <Face agent={agent} />}
        <div class="chat-who">
          <AgentPicker agents={store.agents.value} agent={agent} onPick={onPick} titleLevel={Title} />
        </div>
        {store.identity.value && (
          <Button
            icon="list"
            aria-label="Your conversations"
            aria-expanded={isListed}
            onClick={() => (store.panel.value = isListed ? null : "conversations")}
          />
        )}
        {conversation.session.value && (
          <Button icon="plus" aria-label="New conversation" onClick={restart}>
            <span class="chat-new">New conversation</span>
          </Button>
        )}
      </header>
      <ModelLine tenant={agent.tenant} />
      <div class="chat-body">
        {isListed && <ConversationPanel store={store} />}
        <div class="chat-main">
          <Thread key={conversation} store={store} conversation={conversation} agent={agent} />
          <PersonLine conversation={conversation} />
          <Subject store={store} onRemove={restart} />
          <Composer store={store} conversation={conversation} agentName={agent.name} />
        </div>
      </div>
    </section>
  );
}

/** Says that a person is to answer, or is here. */
function PersonLine({ conversation }: { conversation: Conversation }) {
  const { who, person } = conversation.answering.value;
  return (
    <p class="chat-person" role="status">
      {who === "waiting" && "A person will answer here and reads what you write until then."}
      {who === "person" && (
        <>
          <b>{person || "A person"}</b> is here and answers you.
        </>
      )}
    </p>
  );
}

function Subject({ store, onRemove }: { store: ChatStore; onRemove: () => void }) {
  const about = store.conversation.value?.about.value;
  if (!about) return null;
  return (
    <p class="chat-about">
      <span title={about.handle}>
        About <b>{about.name}</b>
      </span>
      <Button kind="link" onClick={onRemove}>
        Remove
      </Button>
    </p>
  );
}
