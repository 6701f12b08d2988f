// Writing a document: its text in a box, kept whatever happens to it elsewhere meanwhile.

import { h } from "./dom.js";
import { path } from "./formatting.js";

/** The form of a document's text; `done()` leads back to what is read. `found` is the document as GET gave it. */
export function writing(room, found, done) {
  let { version } = found;
  const box = h("textarea", { class: "page-text", rows: 18, "aria-label": `Text of ${found.title}` });
  box.value = found.content;
  const told = h("p", { class: "notice", role: "alert", hidden: true });
  const theirs = h("div", { class: "theirs", hidden: true });
  const save = h("button", { class: "solid", type: "submit" }, "Save");
  const leave = () => { room.unsaved = null; done(); };
  const say = (text) => { told.textContent = text; told.hidden = false; };
  const merge = async () => {
    const now = await room.ask("GET", `v1/documents/${path(found.handle)}`);
    version = now.version;
    theirs.replaceChildren(h("h5", {}, "Version saved by someone else"), h("pre", { tabindex: 0 }, now.content));
    theirs.hidden = false;
    say(`Someone else saved this text (version ${version}). Your text is above, theirs is below. Save again to keep yours.`);
  };
  const form = h("form", { class: "form", on: { submit: async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      if (box.value !== found.content) await room.ask("PATCH", `v1/documents/${path(found.handle)}`, { content: box.value, version });
      room.unsaved = null;
      room.again();
    } catch (error) {
      if (error.status === 409) await merge().catch((problem) => say(problem.message));
      else say(error.message);
    } finally {
      save.disabled = false;
    }
  } } }, box, told, h("div", { class: "buttons" }, save, h("button", { class: "quiet", type: "button", on: { click: leave } }, "Cancel")), theirs);
  room.unsaved = () => form.isConnected && box.value !== found.content;
  return form;
}
