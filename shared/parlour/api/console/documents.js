// The documents of a project in their order, and the text of one, opened at the heading or page that was found.

import { h } from "./dom.js";
import { rich } from "./rich_text.js";
import { path } from "./formatting.js";
import { writing } from "./document_form.js";

/** A project's tree, or a document's text; nothing for other records. */
export function documents(room, record, asked) {
  if (record.type === "project") return tree(room, record);
  return record.type === "document" ? text(room, record, asked) : "";
}

async function tree(room, project) {
  const { documents: nodes } = await room.ask("GET", `v1/projects/${path(project.handle)}/documents`);
  const add = room.may("editor") ? h("p", { class: "buttons" }, h("a", { class: "quiet", href: `#/new?${new URLSearchParams({ type: "document", project: project.handle })}` }, "New document")) : "";
  if (!nodes.length && !add) return "";
  return h("section", { class: "panel" }, h("h4", {}, "Documents"), nodes.length ? h("ul", { class: "plain tree" }, ...nodes.map(node)) : h("p", { class: "soft" }, "No documents yet."), add);
}

function node({ handle, title, description, length, depth, is_context: context }) {
  const line = h("a", { class: "record-line", href: `#/records/${path(handle)}` }, h("span", { class: "record-name" }, title, context ? h("span", { class: "kind" }, "context document") : null), h("span", { class: "detail" }, [description, `${length.toLocaleString("en")} characters`].filter(Boolean).join(" · ")));
  const item = h("li", {}, line);
  item.style.setProperty("--depth", String(Math.min(depth ?? 0, 6)));
  return item;
}

async function text(room, record, asked) {
  const found = record.document ?? (await room.ask("GET", `v1/documents/${path(record.handle)}`));
  const panel = h("section", { class: "panel" });
  const edit = () => {
    panel.replaceChildren(h("h4", {}, "Text"), writing(room, found, read));
    panel.querySelector("textarea").focus();
  };
  const read = () => {
    const body = h("div", { class: "prose paper" }, found.content ? rich(found.content) : h("p", { class: "soft" }, "No text yet."));
    point(body, asked.get("heading"));
    // What came with a pack is no record, and is changed in the pack.
    const change = !record.document && room.may("editor") ? h("p", { class: "buttons" }, h("button", { class: "quiet", type: "button", on: { click: edit } }, "Edit text")) : "";
    panel.replaceChildren(h("h4", {}, "Text"), body, change);
  };
  read();
  return panel;
}

/** Mark the heading that a card named: the last of "Part > Clause", where one stands in the text. */
function point(body, heading) {
  const wanted = (heading ?? "").split(/ [>›·] /).at(-1).trim().toLowerCase();
  if (!wanted) return;
  const place = [...body.querySelectorAll(".heading")].find((one) => one.textContent.trim().toLowerCase().includes(wanted));
  place?.classList.add("found");
}
