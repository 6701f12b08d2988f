// The agents that one can talk to, where there are several to choose from.

import { byId, h } from "./dom.js";

export function offer(bindings) {
  byId("binding").replaceChildren(...bindings.map((one) => h("option", {}, one.name)));
  byId("picker").hidden = bindings.length < 2;
  byId("chat-title").classList.toggle("hidden-label", bindings.length > 1);
}

/** The binding among those offered, chosen; one that is not yet is put there. */
export function known(bindings, binding) {
  const there = bindings.find(({ tenant, slug }) => tenant === binding.tenant && slug === binding.slug);
  if (!there) {
    bindings.push({ samples: [], ...binding });
    offer(bindings);
  }
  byId("binding").selectedIndex = bindings.indexOf(there ?? bindings.at(-1));
  return there ?? bindings.at(-1);
}
