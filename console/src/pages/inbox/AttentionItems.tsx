import { hasRole } from "../../api/sign_in";
import { to } from "../../shell/router";
import { Badge, type Tone } from "../../ui/Badge";
import { LinkButton } from "../../ui/Button";
import { ConfirmButton } from "../../ui/Dialog";
import { sentenceCase } from "../../ui/format";
import { Markdown } from "../../ui/Markdown";
import { Tabs } from "../../ui/Page";
import { Scrollable } from "../../ui/Scrollable";
import { EmptyState, ErrorState, Notice, Skeleton } from "../../ui/states";
import { Time } from "../../ui/Time";
import { attention, attentionProblem, refreshAttention, type InboxItem } from "./attention";
import { decisionsOn } from "./decisions";

const KINDS: Record<InboxItem["kind"], { label: string; tone: Tone }> = {
  no_model_calls: { label: "No model calls", tone: "bad" },
  failing_agent_loop: { label: "Failing agent loop", tone: "bad" },
  waiting_route: { label: "Host or number not accepted", tone: "warning" },
  unheard_conversation: { label: "Nobody notified", tone: "bad" },
  unknown_tool_call: { label: "Unknown outcome", tone: "warning" },
  unanswered_tool_call: { label: "No answer yet", tone: "warning" },
  unknown_delivery: { label: "Unknown delivery", tone: "warning" },
  held_reply: { label: "Held reply", tone: "warning" },
  waiting_reply: { label: "Waiting reply", tone: "warning" },
  failed_turn: { label: "Unanswered message", tone: "bad" },
  failed_notification: { label: "Failed notification", tone: "warning" },
  failed_reply: { label: "Failed reply", tone: "neutral" },
};

const CHANNELS: Record<string, string> = { web: "web", whatsapp: "WhatsApp" };

interface AttentionProps {
  kind: string;
  onDone: (message: string) => void;
  /** Whether nothing else is listed: an empty list then says so. */
  isAlone: boolean;
}

/** What a person decides outside of a conversation: replies and notifications that did not leave, stopped models. */
export function AttentionItems({ kind: wanted, onDone, isAlone }: AttentionProps) {
  const found = attention.value;
  const kinds = [...new Set(found?.items.map(({ kind }) => kind))];
  const items = found?.items.filter(({ kind }) => !wanted || kind === wanted) ?? [];
  return (
    <>
      {!isAlone && items.length > 0 && <h2 class="inbox-heading">Other</h2>}
      {kinds.length > 1 && isAlone && (
        <Tabs
          label="Kinds of items"
          tabs={["" as const, ...kinds].map((kind) => ({
            href: to(["inbox"], { list: "items", kind }),
            label: kind ? KINDS[kind].label : "All",
            isCurrent: kind === wanted,
          }))}
        />
      )}
      {found ? (
        <Notice problem={attentionProblem.value} />
      ) : (
        attentionProblem.value && <ErrorState problem={attentionProblem.value} reload={() => void refreshAttention()} />
      )}
      {!found && !attentionProblem.value && isAlone && <Skeleton />}
      {found && items.length === 0 && isAlone && (
        <EmptyState icon="inbox" title={wanted ? "Nothing of this kind" : "Nothing else"}>
          <p>Items appear here when a reply or a notification is not delivered, or models are not called.</p>
        </EmptyState>
      )}
      <ItemCards items={items} onDone={onDone} />
      {found?.hasMore && <p class="soft">There are more items. They appear when these are decided.</p>}
    </>
  );
}

/** Cards of items, with what a person can decide about each. */
export function ItemCards({ items, onDone }: { items: readonly InboxItem[]; onDone: (message: string) => void }) {
  return (
    <ul class="inbox-list">
      {items.map((item) => (
        <li key={keyOf(item)}>
          <Card item={item} onDone={onDone} />
        </li>
      ))}
    </ul>
  );
}

function keyOf(item: InboxItem): string {
  if ("id" in item) return item.id;
  if (item.kind === "waiting_route") return item.key;
  if (item.kind === "failing_agent_loop") return item.binding + item.function;
  return item.kind === "unheard_conversation" ? item.kind + item.session_id : item.kind;
}

function Card({ item, onDone }: { item: InboxItem; onDone: (message: string) => void }) {
  const { label, tone } = KINDS[item.kind];
  const decide = async (run: () => Promise<{ message: string }>) => {
    const { message } = await run();
    onDone(message);
    await refreshAttention();
  };
  return (
    <article class="card inbox-card">
      <header>
        <Badge tone={tone}>{label}</Badge>
        {"channel" in item && <span class="soft">{CHANNELS[item.channel] ?? item.channel}</span>}
        {"recipient" in item && <span class="soft">to {item.recipient}</span>}
        {"binding" in item && <span class="soft">{sentenceCase(item.binding)}</span>}
        {"at" in item && <Time at={item.at} />}
      </header>
      <h2>{item.what_happened}</h2>
      <p>{item.reason.message}</p>
      <Content item={item} />
      <p class="soft">{item.what_to_do}</p>
      <footer class="buttons">
        {hasRole("admin") &&
          decisionsOn(item).map((decision, index) => (
            <ConfirmButton
              key={decision.label}
              kind={index === 0 ? "solid" : "quiet"}
              label={decision.label}
              title={decision.title}
              confirmLabel={decision.confirmLabel}
              work={() => decide(decision.run)}
            >
              <p>{decision.explanation}</p>
            </ConfirmButton>
          ))}
        {"session_id" in item ? (
          <LinkButton
            icon="chat"
            href={to(["conversations", item.session_id], { turn: "turn_id" in item ? item.turn_id : undefined })}
          >
            Conversation
          </LinkButton>
        ) : item.kind === "failing_agent_loop" || item.kind === "waiting_route" ? (
          <LinkButton icon="bot" href={to(["agents"])}>
            Agents
          </LinkButton>
        ) : (
          <LinkButton icon="coins" href={to(["costs"])}>
            Costs
          </LinkButton>
        )}
      </footer>
      {!hasRole("admin") && decisionsOn(item).length > 0 && <p class="soft">An administrator decides.</p>}
    </article>
  );
}

/** What the item is about: the text, the messages, or the arguments of the call. */
function Content({ item }: { item: InboxItem }) {
  if (item.kind === "unknown_tool_call" || item.kind === "unanswered_tool_call") {
    return (
      <dl class="inbox-arguments">
        <div>
          <dt>Tool</dt>
          <dd>{sentenceCase(item.tool)}</dd>
        </div>
        {Object.entries(item.arguments).map(([name, value]) => (
          <div key={name}>
            <dt>{sentenceCase(name)}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    );
  }
  const texts = "texts" in item ? item.texts : "text" in item ? [item.text] : [];
  return (
    <>
      {texts.filter(Boolean).map((text, index) => (
        <Scrollable key={index} class="inbox-text" label="Text">
          <Markdown text={text} />
        </Scrollable>
      ))}
    </>
  );
}
