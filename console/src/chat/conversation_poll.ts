import type { Conversation } from "./conversation";

/** Milliseconds: between two reads after something came, and at most; each read that finds nothing doubles the wait. */
const WAIT = { shortest: 4_000, longest: 60_000 };
/** Milliseconds without a touch after which a page is left alone, so that an idle database can pause. */
const IDLE = 10 * 60_000;

/**
 * Read what comes into a conversation from elsewhere, and return what ends that.
 * One that a phone shares, in which somebody is asked, or that a person is to answer is polled; any other is read when the tab is shown again, as another tab may have written.
 */
export function pollConversation(conversation: Conversation): () => void {
  let timer: ReturnType<typeof setTimeout>;
  let wait = WAIT.shortest;
  let touchedAt = Date.now();
  const touch = () => (touchedAt = Date.now());
  const read = async () => {
    const isNew = await conversation.refresh().catch(() => false);
    wait = isNew || conversation.isHeld ? WAIT.shortest : Math.min(WAIT.longest, wait * 2);
  };
  const poll = async () => {
    const isIdle = document.hidden || Date.now() - touchedAt > IDLE;
    const comesFromElsewhere = conversation.isShared.value || conversation.hasOpenQuestion || conversation.isHeld;
    if (comesFromElsewhere && !isIdle) await read();
    if (!conversation.isClosed) timer = setTimeout(() => void poll(), wait);
  };
  const onVisible = () => {
    if (!document.hidden) void read();
  };
  timer = setTimeout(() => void poll(), wait);
  document.addEventListener("visibilitychange", onVisible);
  document.addEventListener("pointerdown", touch, { passive: true });
  document.addEventListener("keydown", touch, { passive: true });
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
    document.removeEventListener("pointerdown", touch);
    document.removeEventListener("keydown", touch);
  };
}
