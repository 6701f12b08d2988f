import { useEffect, useRef, useState } from "preact/hooks";
import type { Agent } from "../../chat/agent";
import { MessageField } from "../../chat/Composer";
import { Button } from "../../ui/Button";
import { clock } from "../../ui/format";
import { useAction, useResource } from "../../ui/resource";
import { ErrorState, Notice, Skeleton } from "../../ui/states";
import { readPhone, sendFromPhone, type PhoneMessage, type PhoneState } from "./phone_messages";
import { WhatsAppText } from "./WhatsAppText";

/** Milliseconds between two reads of the phone. */
const POLL = 1_200;
const STATUS_WORDS: Record<string, string> = { read: "Read", delivered: "Delivered", sent: "Sent" };

interface PhoneProps {
  agents: readonly Agent[];
  /** Called when a reply arrived. */
  onReply: () => void;
}

/** A simulated phone. What is typed goes to the webhook, as the WhatsApp provider would deliver it. */
export function Phone({ agents, onReply }: PhoneProps) {
  const [number, setNumber] = useState("");
  const [text, setText] = useState("");
  const phone = useResource((signal) => readPhone(number, signal), [number]);
  const { reload } = phone;
  const received = phone.data?.messages.filter(({ direction }) => direction === "received").length;
  const known = useRef<{ number: string; received: number } | null>(null);
  const log = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL);
    return () => clearInterval(timer);
  }, [reload]);
  useEffect(() => {
    if (received === undefined) return;
    if (known.current?.number === number && received > known.current.received) onReply();
    known.current = { number, received };
  }, [received, number, onReply]);
  useEffect(() => {
    log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [phone.data?.messages.length]);

  const send = useAction(async (message: string) => {
    await sendFromPhone(number || (phone.data?.from ?? ""), message);
    setText("");
    reload();
  });
  const submit = () => {
    if (text.trim()) send.run(text.trim());
  };

  if (!phone.data) return phone.problem ? <ErrorState problem={phone.problem} reload={reload} /> : <Skeleton />;
  const agent = agents.find(({ slug }) => slug === phone.data?.binding);
  return (
    <section class="handset" aria-label="Simulated phone">
      <div class="handset-screen">
        <PhoneHead phone={phone.data} onNumber={setNumber} />
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a keyboard must reach what scrolls */}
        <div ref={log} class="handset-log" role="log" aria-label="Messages on the phone" tabIndex={0}>
          {phone.data.messages.map((message) => (
            <Bubble key={message.id} message={message} />
          ))}
          {!phone.data.messages.length && <Hint agent={agent} onPick={(sample) => send.run(sample)} />}
        </div>
        <Notice problem={send.problem ?? phone.problem} />
        <form class="handset-composer" onSubmit={(event) => (event.preventDefault(), submit())}>
          <MessageField
            label="Message from the phone"
            placeholder="Message"
            value={text}
            onInput={setText}
            onSubmit={submit}
          />
          <Button
            kind="solid"
            type="submit"
            icon="arrowUp"
            aria-label="Send from the phone"
            disabled={send.isRunning}
          />
        </form>
      </div>
    </section>
  );
}

function PhoneHead({ phone, onNumber }: { phone: PhoneState; onNumber: (number: string) => void }) {
  return (
    <header class="handset-head">
      <span class="handset-avatar" aria-hidden="true">
        {phone.contact.slice(0, 1)}
      </span>
      <div>
        <h2>{phone.contact}</h2>
        <label>
          from{" "}
          <input
            type="tel"
            maxLength={16}
            aria-label="Your phone number"
            value={phone.from}
            onChange={(event) => onNumber(event.currentTarget.value.trim())}
          />
        </label>
      </div>
    </header>
  );
}

function Bubble({ message }: { message: PhoneMessage }) {
  const status = STATUS_WORDS[message.status];
  return (
    <div class={`handset-bubble ${message.direction}`}>
      <WhatsAppText text={message.text} />
      <time dateTime={message.at}>
        {clock(message.at)}
        {status && ` · ${status}`}
      </time>
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
      {samples.slice(0, 2).map((text) => (
        <button key={text} type="button" class="handset-sample" onClick={() => onPick(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}
