// A button that asks before it acts, in its own place; what went wrong is said there, too.

import { h } from "./dom.js";

/** `act()` does it, and has led elsewhere when it is through; `more` is put before the question's buttons. */
export function asking(label, question, yes, act, look = {}) {
  const place = h("div", { class: "asking" });
  const offer = (problem, focus) => {
    const button = h("button", { class: "quiet", type: "button", ...look, on: { click: ask } }, label);
    place.replaceChildren(button, problem ? h("p", { class: "bad", role: "alert" }, problem) : "");
    if (focus) button.focus();
  };
  const ask = () => {
    const sure = h("button", { class: "solid danger", type: "button", on: { click: () => go(sure) } }, yes);
    const no = h("button", { class: "quiet", type: "button", on: { click: () => offer("", true) } }, "Cancel");
    place.replaceChildren(h("p", { class: "question" }, question), h("div", { class: "buttons" }, sure, no));
    place.onkeydown = ({ key }) => { if (key === "Escape") offer("", true); };
    sure.focus();
  };
  const go = async (button) => {
    button.disabled = true;
    try {
      await act();
    } catch (error) {
      offer(error.message);
    }
  };
  offer();
  return place;
}
