// What goes along with a message: chosen, dropped or pasted; shown until it is sent, and uploaded when it is.

import { Problem, call } from "./api.js";
import { h } from "./dom.js";
import { glyph } from "./icons.js";
import { size } from "./formatting.js";
import { post } from "./upload.js";

const MOST = 5;
const LARGEST = 16 * 1024 * 1024; // bytes, as the API takes them
const FORM = 14 * 60_000; // milliseconds; a form is good for a quarter of an hour
const KEPT = 55 * 60_000; // an upload that no message names is taken away after an hour
const ACCEPT = "image/jpeg,image/png,image/gif,image/webp,.txt,.md,.csv,.json,text/plain";

export class Attaching {
  /** In a form and around it; `say` tells what was not taken. */
  constructor(form, say) {
    this.say = say;
    this.pieces = [];
    this.tray = h("ul", { class: "tray", "aria-label": "Attachments", hidden: true });
    const pick = h("input", { type: "file", multiple: true, accept: ACCEPT, class: "hidden-label", id: "chat-pick", on: { change: (event) => { this.take(event.target.files); event.target.value = ""; } } });
    const button = h("label", { class: "attach", for: "chat-pick", title: "Attach an image or a text file" }, glyph("clip"), h("span", { class: "hidden-label" }, "Attach an image or a text file"));
    form.prepend(pick, button);
    form.before(this.tray);
    this.around(form.closest("section"));
  }

  around(room) {
    const over = (is) => room.classList.toggle("over", is);
    room.addEventListener("dragover", (event) => { if ([...event.dataTransfer.types].includes("Files")) { event.preventDefault(); over(true); } });
    room.addEventListener("dragleave", (event) => { if (!room.contains(event.relatedTarget)) over(false); });
    room.addEventListener("drop", (event) => { event.preventDefault(); over(false); this.take(event.dataTransfer.files); });
    room.addEventListener("paste", (event) => { if (event.clipboardData.files.length) { event.preventDefault(); this.take(event.clipboardData.files); } });
  }

  take(files) {
    const large = [...files].filter((file) => file.size > LARGEST).map(({ name }) => `${name} is larger than 16 MB.`);
    const fit = [...files].filter((file) => file.size && file.size <= LARGEST);
    const many = this.pieces.length + fit.length > MOST ? [`A message can have at most ${MOST} attachments.`] : [];
    this.pieces.push(...fit.slice(0, MOST - this.pieces.length).map(piece));
    this.say([...large, ...many].join(" "));
    this.draw();
  }

  /** What is to be sent along now; nothing is left for the next message. */
  give() {
    const given = this.pieces;
    this.pieces = [];
    this.draw();
    return given;
  }

  draw() {
    const leave = (one) => { this.pieces = this.pieces.filter((other) => other !== one); this.draw(); };
    this.tray.replaceChildren(...this.pieces.map((one) => h("li", {}, along(one), h("button", { type: "button", "aria-label": `Remove ${one.name}`, on: { click: () => leave(one) } }, "×"))));
    this.tray.hidden = !this.pieces.length;
  }
}

/** What came with a message, by its name. */
export function alongside(attachments) {
  return attachments?.length ? h("span", { class: "alongside" }, ...attachments.map(along)) : null;
}

/** Upload what is not there yet in this session; how the message names it. What was begun is gone on with. */
export async function uploaded(pieces, session) {
  for (const one of pieces) {
    if (one.session !== session.session_id || Date.now() - one.at > (one.there ? KEPT : FORM)) {
      const started = await call("POST", `v1/sessions/${session.session_id}/attachments`, { body: { name: one.name, size_bytes: one.size_bytes }, token: session.token });
      Object.assign(one, { id: started.id, form: started.upload, session: session.session_id, at: Date.now(), there: false });
    }
    if (one.there) continue;
    await post(one.form, one.file).catch((error) => { throw new Problem(0, "upload", `${one.name}: ${error.message}`); });
    one.there = true;
  }
  return pieces.map(({ id }) => ({ upload: id }));
}

function piece(file) {
  const name = file.name.replaceAll(/\p{Cc}/gu, " ").slice(-200).trim() || "file";
  return { file, name, size_bytes: file.size, kind: file.type.startsWith("image/") ? "image" : "text" };
}

function along({ kind, name, size_bytes: bytes }) {
  return h("span", { class: "along", title: name }, glyph(kind === "image" ? "image" : "file"), h("b", {}, name), bytes ? h("span", { class: "detail" }, size(bytes)) : null);
}
