// Joining what is written here with the conversation on WhatsApp: the number, that its owner agrees, the code that came.

import { h } from "./dom.js";

/** The form, or a line where both are one already; nothing where the agent is not on WhatsApp. */
export function joining(chat, threads, isJoined) {
  if (!chat.binding.channels?.includes("whatsapp") || !chat.session) return "";
  if (isJoined) return h("p", { class: "detail" }, "Web and WhatsApp share this conversation.");
  return new Joining(chat, threads).element;
}

class Joining {
  constructor(chat, threads) {
    this.chat = chat;
    this.threads = threads;
    this.session = chat.session.session_id;
    this.said = h("p", { class: "detail", role: "status" });
    this.wrong = h("p", { class: "bad", role: "alert", hidden: true });
    this.form = h("div");
    this.element = h("details", { class: "joining" }, h("summary", {}, "Continue on WhatsApp"), this.form, this.said, this.wrong);
    this.number();
  }

  number() {
    const phone = h("input", { id: "joining-phone", type: "tel", autocomplete: "tel", placeholder: "+91 98000 00001", required: true, maxlength: 40 });
    const agreed = h("input", { id: "joining-agreed", type: "checkbox", required: true });
    const send = h("button", { class: "solid", type: "submit" }, "Send me a code");
    this.form.replaceChildren(h("form", { class: "joining-form", on: { submit: (event) => {
      event.preventDefault();
      this.tried(send, () => this.ask(phone.value, agreed.checked));
    } } },
    h("label", { for: "joining-phone" }, "Your number with country code"), phone,
    h("label", { class: "agreed", for: "joining-agreed" }, agreed, h("span", {}, `I agree to link my web and WhatsApp messages into one conversation. ${this.chat.binding.name} sees and remembers both.`)),
    send));
  }

  async ask(phone, consent) {
    const asked = await this.threads.ask("POST", `v1/sessions/${this.session}/phone`, { phone, consent });
    this.said.textContent = asked.message;
    this.code(asked.link_id);
  }

  code(link) {
    const code = h("input", { id: "joining-code", inputmode: "numeric", autocomplete: "one-time-code", required: true, maxlength: 12 });
    const join = h("button", { class: "solid", type: "submit" }, "Link");
    const other = h("button", { class: "quiet", type: "button", on: { click: () => { this.say(""); this.said.textContent = ""; this.number(); } } }, "Use another number");
    this.form.replaceChildren(h("form", { class: "joining-form", on: { submit: (event) => {
      event.preventDefault();
      this.tried(join, () => this.join(link, code.value));
    } } }, h("label", { for: "joining-code" }, "Code from WhatsApp (valid for ten minutes)"), code, h("div", { class: "buttons" }, join, other)));
    code.focus();
  }

  async join(link, code) {
    const joined = await this.threads.ask("POST", `v1/sessions/${this.session}/phone/${link}`, { code });
    await this.chat.joined(joined);
    this.threads.close();
  }

  async tried(button, work) {
    this.say("");
    button.disabled = true;
    try {
      await work();
    } catch (error) {
      this.say(error.message.replace(/^phone: /, "")); // the field has its label
    } finally {
      button.disabled = false;
    }
  }

  say(text) {
    this.wrong.textContent = text;
    this.wrong.hidden = !text;
  }
}
