// Puts the page together: settings first, then the conversation, and the phone and the turns where there are any.

import { call, kindly } from "./api.js";
import { Attention } from "./attention.js";
import { Chat } from "./chat.js";
import { byId, notice } from "./dom.js";
import { Inspector } from "./inspector.js";
import { Phone } from "./phone.js";
import { Records } from "./records.js";

/** A turn is complete a moment after its last event, when its costs are in. */
const SETTLE = 250;

/** Somebody of whom it is not known what they may do is offered nothing to do. */
const NOBODY = { roles: [], clearance: 0 };

async function start() {
  const settings = await call("GET", "console/settings.json");
  const environment = byId("environment");
  environment.textContent = settings.environment;
  environment.hidden = !settings.environment;
  const refresh = () => setTimeout(() => Promise.all([inspector.refresh(), attention.refresh()]), SETTLE);
  const chat = new Chat(settings, refresh);
  const inspector = new Inspector(settings, async (credentials) => {
    const me = await inspector.ask("GET", "v1/me").catch(() => ({ ...NOBODY, tenant: credentials.tenant }));
    attention.start(me);
    records.start(me);
    if (!settings.bindings.length) await introduce(chat, credentials);
  });
  const show = tabs((view) => {
    attention.shown(view === "attention");
    records.shown(view === "records");
  });
  const attention = new Attention((...asked) => inspector.ask(...asked), (item) => {
    show("turns");
    return inspector.reveal(item);
  });
  const records = new Records((...asked) => inspector.ask(...asked), show, chat);
  records.begin();
  const beside = [inspector.start(), settings.local && phone(settings, refresh)];
  await chat.start();
  await Promise.allSettled(beside); // a phone or a list of turns that does not come must not take the chat along
}

/** Where the page's own address leads to nobody, whoever signs in meets the agents of their tenant. */
async function introduce(chat, credentials) {
  const [{ slug: tenant }, { bindings }] = await Promise.all([call("GET", "v1/tenant", credentials), call("GET", "v1/bindings", credentials)]);
  const open = bindings.filter(({ channels, door }) => channels.includes("web") && door !== "private");
  if (open.length) await chat.meet(open.map(({ slug, display_name: name, greeting }) => ({ tenant, slug, name, greeting, samples: [] })));
}

async function phone(settings, refresh) {
  const samples = settings.bindings.filter(({ channels }) => channels.includes("whatsapp")).flatMap(({ samples: asked }) => asked);
  if (!(await new Phone(samples.length ? samples : ["Hello, who am I talking to?"], refresh).start())) return;
  byId("phone").hidden = false;
  document.querySelector(".rooms").classList.add("with-phone");
  document.querySelector(".tabs").classList.add("with-phone");
  document.querySelector('[data-show="phone"]').hidden = false;
}

/** The buttons that choose a view; one that is chosen already leads back. `onShown` is told which it is now. */
function tabs(onShown) {
  const buttons = [...document.querySelectorAll("[data-show]")];
  const { body } = document;
  const show = (view) => {
    body.dataset.before = body.dataset.view;
    body.dataset.view = view;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.show === view));
    onShown(view);
  };
  const back = () => (["attention", "records"].includes(body.dataset.before) ? "chat" : body.dataset.before ?? "chat");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const { show: view } = button.dataset;
      show(button.classList.contains("summons") && body.dataset.view === view ? back() : view);
    });
  }
  return show;
}

start().catch((error) => {
  notice(byId("chat-notice"), kindly(error));
  byId("chat-form").hidden = true;
});
