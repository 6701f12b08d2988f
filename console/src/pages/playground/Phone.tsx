import { useEffect, useRef, useState } from "preact/hooks";
import type { Agent } from "../../chat/agent";
import { MessageField } from "../../chat/Composer";
import { Button } from "../../ui/Button";
import { clock } from "../../ui/format";
import { useAction, useResource } from "../../ui/resource";
import { EmptyState, ErrorState, Notice, Skeleton } from "../../ui/states";
import {
  readMessages,
  readNumbers,
  sendFromPhone,
  type BusinessNumber,
  type PhoneButton,
  type PhoneMessage,
  type PhoneThread,
} from "./phone_messages";
import { WhatsAppText } from "./WhatsAppText";

/** Milliseconds between two reads of the phone. */
const POLL = 1_200;
const STATUS_WORDS: Record<string, string> = { read: "Read", delivered: "Delivered", sent: "Sent" };

interface PhoneProps {
  tenant: string;
  agents: readonly Agent[];
  /** Called when a reply arrived. */
  onReply: () => void;
}

/** A simulated phone. What is typed goes to the webhook of the binding's provider, as the provider would deliver it. */
export function Phone({ tenant, agents, onReply }: PhoneProps) {
  const [typedNumber, setTypedNumber] = useState("");
  const [chosen, setChosen] = useState("");
  const { data, problem, reload } = useResource((signal) => readNumbers(tenant, signal), [tenant]);
  if (!data) return problem ? <ErrorState problem={problem} reload={reload} /> : <Skeleton />;
  const number = data.numbers.find(({ binding }) => binding === chosen) ?? data.numbers[0];
  if (!number) {
    return (
      <EmptyState icon="chat" title="No WhatsApp number">
        <p>Give a binding of the pack a channel whatsapp, and apply the pack.</p>
      </EmptyState>
    );
  }
  const thread = { tenant, binding: number.binding, from: typedNumber || data.from };
  return (
    <section class="handset" aria-label="Simulated phone">
      <div class="handset-screen">
        <header class="handset-head">
          <span class="handset-avatar" aria-hidden="true">
            {number.contact.slice(0, 1)}
          </span>
          <div>
            <h2>{number.contact}</h2>
            <BindingChoice numbers={data.numbers} number={number} onChoose={setChosen} />
            <label>
              from{" "}
              <input
                type="tel"
                maxLength={16}
                aria-label="Your phone number"
                value={thread.from}
                onChange={(event) => setTypedNumber(event.currentTarget.value.trim())}
              />
            </label>
          </div>
        </header>
        <Messages
          key={`${thread.binding} ${thread.from}`}
          thread={thread}
          agent={agents.find(({ slug }) => slug === number.binding)}
          onReply={onReply}
        />
      </div>
    </section>
  );
}

interface BindingChoiceProps {
  numbers: readonly BusinessNumber[];
  number: BusinessNumber;
  onChoose: (binding: string) => void;
}

/** Whom the phone writes to: a choice, if there are several numbers. */
function BindingChoice({ numbers, number, onChoose }: BindingChoiceProps) {
  if (numbers.length === 1) return <p>{number.name}</p>;
  return (
    <select aria-label="Write to" value={number.binding} onChange={(event) => onChoose(event.currentTarget.value)}>
      {numbers.map(({ binding, name }) => (
        <option key={binding} value={binding}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface MessagesProps {
  thread: PhoneThread;
  agent: Agent | undefined;
  onReply: () => void;
}

/** The messages of a conversation, and the field for the next one. */
function Messages({ thread, agent, onReply }: MessagesProps) {
  const [text, setText] = useState("");
  const { data: messages, problem, reload } = useResource((signal) => readMessages(thread, signal), []);
  const received = messages?.filter(({ direction }) => direction === "received").length;
  const known = useRef<number | null>(null);
  const log = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL);
    return () => clearInterval(timer);
  }, [reload]);
  useEffect(() => {
    if (received === undefined) return;
    if (known.current !== null && received > known.current) onReply();
    known.current = received;
  }, [received, onReply]);
  useEffect(() => {
    log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [messages?.length]);

  const send = useAction(async (message: string) => {
    await sendFromPhone(thread, message);
    setText("");
    reload();
  });
  const press = useAction(async ({ id, title }: PhoneButton) => {
    await sendFromPhone(thread, title, id);
    reload();
  });
  const submit = () => {
    if (text.trim()) send.run(text.trim());
  };
  return (
    <>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a keyboard must reach what scrolls */}
      <div ref={log} class="handset-log" role="log" aria-label="Messages on the phone" tabIndex={0}>
        {messages?.map((message) => (
          <Bubble key={message.id} message={message} onPress={press.run} />
        ))}
        {messages?.length === 0 && <Hint agent={agent} onPick={(sample) => send.run(sample)} />}
      </div>
      <Notice problem={send.problem ?? press.problem ?? problem} />
      <form class="handset-composer" onSubmit={(event) => (event.preventDefault(), submit())}>
        <MessageField
          label="Message from the phone"
          placeholder="Message"
          value={text}
          onInput={setText}
          onSubmit={submit}
        />
        <Button kind="solid" type="submit" icon="arrowUp" aria-label="Send from the phone" disabled={send.isRunning} />
      </form>
    </>
  );
}

interface BubbleProps {
  message: PhoneMessage;
  onPress: (button: PhoneButton) => void;
}

/** One message, with the buttons that its reader may press. */
function Bubble({ message, onPress }: BubbleProps) {
  const status = STATUS_WORDS[message.status];
  return (
    <div class={`handset-bubble ${message.direction}`}>
      <WhatsAppText text={message.text} />
      <time dateTime={message.at}>
        {clock(message.at)}
        {status && ` · ${status}`}
      </time>
      {message.buttons.map((button) => (
        <button key={button.id} type="button" class="handset-button" onClick={() => onPress(button)}>
          {button.title}
        </button>
      ))}
    </div>
  );
}

/** What the phone shows before its first message: the sample questions of its own agent. */
function Hint({ agent, onPick }: { agent: Agent | undefined; onPick: (text: string) => void }) {
  const samples = agent?.samples.length ? agent.samples : ["Hello, who am I talking to?"];
  return (
    <div class="handset-hint">
      <p>
        Write as a customer on WhatsApp. The reply takes the real path: webhook, queues and the provider’s send API.
      </p>
      {samples.slice(0, 3).map((text) => (
        <button key={text} type="button" class="handset-sample" onClick={() => onPick(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}
