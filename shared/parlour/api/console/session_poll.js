// Looks after a conversation that a phone writes in, too: what comes from there is shown here without a reload.

import { call } from "./api.js";

const NEAR = 4000; // between two looks, after something came
const FAR = 60_000; // at most: each look that finds nothing doubles the wait
const IDLE = 10 * 60_000; // nobody touched the page: a database that pauses is left to pause

export class Watch {
  constructor(chat) {
    this.chat = chat;
    this.touched = Date.now();
    for (const event of ["pointerdown", "keydown"]) document.addEventListener(event, () => { this.touched = Date.now(); }, { passive: true });
  }

  /** Look after this conversation, and no other, if both channels meet in it. */
  over({ id, is_main: both }) {
    clearTimeout(this.timer);
    this.wait = NEAR;
    this.session = both ? id : null;
    if (both) this.later();
  }

  later() {
    this.timer = setTimeout(() => this.look().catch(() => {}).finally(() => this.isOurs() && this.later()), this.wait);
  }

  isOurs() {
    return this.session && this.chat.session?.session_id === this.session;
  }

  async look() {
    const { chat } = this;
    const rests = document.hidden || Date.now() - this.touched > IDLE || chat.following || chat.pending.size;
    if (rests || !this.isOurs()) return;
    const { session_id: id, token } = chat.session;
    const shown = await call("GET", `v1/sessions/${id}`, { token });
    const { messages } = await call("GET", `v1/sessions/${id}/messages`, { token });
    if (!this.isOurs() || chat.following || chat.pending.size) return;
    const last = chat.log.lastElementChild?.dataset.id;
    chat.number = Math.max(chat.number, shown.last_event);
    const isNew = messages.length && messages.at(-1).id !== last;
    this.wait = isNew ? NEAR : Math.min(FAR, this.wait * 2);
    if (isNew) chat.retell(messages);
  }
}
