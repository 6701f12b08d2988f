// A box in which a record is named: its handle, chosen from those whose name or key has what is typed.

import { h } from "./dom.js";

const OFFERED = 8;
const PAUSE = 250; // after the last key, before it is looked up
const HANDLE = /^[a-z][a-z0-9_]*\/\S+$/;

let number = 0;

/** An input and what it offers; `type` leaves out all other kinds. `named()` is the handle that is meant, or "". */
export function recordField(room, { id, value = "", type = "", placeholder = "Name or key" }) {
  number += 1;
  const list = h("datalist", { id: `records-offered-${number}` });
  const input = h("input", { id, type: "text", value, placeholder, list: list.id, autocomplete: "off", maxlength: 200 });
  let timer = null;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (!HANDLE.test(input.value)) timer = setTimeout(() => offer().catch(() => {}), PAUSE);
  });
  const found = async () => {
    const asked = new URLSearchParams({ text: input.value.trim(), limit: OFFERED, ...(type ? { type } : {}) });
    return (await room.ask("GET", `v1/entities?${asked}`)).entities;
  };
  const offer = async () => list.replaceChildren(...(await found()).map((one) => h("option", { value: one.handle }, `${one.name} (${one.type_name})`)));
  input.addEventListener("focus", () => offer().catch(() => {}), { once: true });
  const named = async () => {
    const said = input.value.trim();
    if (!said || HANDLE.test(said)) return said;
    const records = await found();
    const exact = records.filter(({ name, key }) => [name, key].some((one) => one.toLowerCase() === said.toLowerCase()));
    const meant = exact.length === 1 ? exact : records;
    if (meant.length === 1) return meant[0].handle;
    throw new Error(meant.length ? `Several records match “${said}”. Choose one from the list.` : `No record is named “${said}”.`);
  };
  return { input, nodes: [input, list], named };
}
