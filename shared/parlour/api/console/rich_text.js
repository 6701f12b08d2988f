// A small, safe reading of the markdown that models write: built from nodes, never from HTML.
// Links stay text on purpose: a reply must not be able to carry the reader, or their data, elsewhere.

import { h } from "./dom.js";

const INLINE = /`([^`\n]+)`|\*\*([^\n]+?)\*\*|(?<![\w*])[*_](?=\S)([^*_\n]+?)(?<=\S)[*_](?![\w*])|\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/g;
const BULLET = /^\s*[-*•]\s+/;
const NUMBERED = /^\s*\d{1,3}[.)]\s+/;

/** The text as nodes. `cite(number)` makes the node of a citation; null leaves the marker as it was written. */
export function rich(text, cite = () => null) {
  const fragment = document.createDocumentFragment();
  for (const block of blocks(text.split("\n"))) fragment.append(drawn(block, cite));
  return fragment;
}

/** WhatsApp's own markup: *bold*, _italic_, ~struck~, ```fixed```; line ends are kept by the style sheet. */
export function whatsapp(text) {
  const fragment = document.createDocumentFragment();
  const marks = /```([^`]+)```|(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)|(?<!\w)~(?=\S)([^~\n]+?)(?<=\S)~(?!\w)/g;
  const tags = ["code", "strong", "em", "s"];
  eachMatch(text, marks, fragment, (match) => {
    const found = match.slice(1).findIndex((group) => group !== undefined);
    return h(tags[found], {}, match[found + 1]);
  });
  return fragment;
}

function blocks(lines) {
  const found = [];
  let fenced = false;
  for (const line of lines) {
    if (/^\s*```/.test(line)) {
      fenced = !fenced;
      if (fenced) found.push({ kind: "pre", lines: [] });
      continue;
    }
    if (fenced) found.at(-1).lines.push(line);
    else place(found, line);
  }
  return found.filter((block) => block.lines.length);
}

function place(found, line) {
  const kind = kindOf(line);
  const last = found.at(-1);
  if (kind === "gap") found.push({ kind, lines: [] });
  else if (kind === "p" && (last?.kind === "ul" || last?.kind === "ol") && /^\s+/.test(line)) last.lines[last.lines.length - 1] += ` ${line.trim()}`;
  else if (last?.kind === kind && kind !== "heading") last.lines.push(stripped(kind, line));
  else found.push({ kind, lines: [stripped(kind, line)], start: parseInt(line, 10) || 1 });
}

function kindOf(line) {
  if (!line.trim()) return "gap";
  if (/^#{1,6}\s/.test(line)) return "heading";
  if (/^>\s?/.test(line)) return "blockquote";
  if (BULLET.test(line)) return "ul";
  return NUMBERED.test(line) ? "ol" : "p";
}

function stripped(kind, line) {
  if (kind === "heading") return line.replace(/^#{1,6}\s+/, "");
  if (kind === "blockquote") return line.replace(/^>\s?/, "");
  return kind === "ul" || kind === "ol" ? line.replace(kind === "ul" ? BULLET : NUMBERED, "") : line;
}

function drawn({ kind, lines, start }, cite) {
  if (kind === "pre") return h("pre", {}, h("code", {}, lines.join("\n")));
  if (kind === "heading") return h("p", { class: "heading" }, inline(lines.join(" "), cite));
  if (kind === "ul" || kind === "ol") {
    return h(kind, kind === "ol" && start > 1 ? { start } : {}, ...lines.map((line) => h("li", {}, inline(line, cite))));
  }
  const element = h(kind === "blockquote" ? "blockquote" : "p");
  lines.forEach((line, index) => element.append(...(index ? [h("br")] : []), inline(line, cite)));
  return element;
}

function inline(text, cite) {
  const fragment = document.createDocumentFragment();
  eachMatch(text, INLINE, fragment, (match) => {
    const [whole, code, bold, italic, numbers] = match;
    if (code !== undefined) return h("code", {}, code);
    if (bold !== undefined) return h("strong", {}, inline(bold, cite));
    if (italic !== undefined) return h("em", {}, italic);
    return citations(whole, numbers, cite);
  });
  return fragment;
}

function citations(whole, numbers, cite) {
  const nodes = numbers.split(",").map((number) => cite(Number(number)));
  if (nodes.some((node) => node === null)) return whole;
  return h("span", { class: "cites" }, ...nodes);
}

function eachMatch(text, pattern, fragment, make) {
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    fragment.append(text.slice(from, match.index), make(match));
    from = match.index + match[0].length;
  }
  fragment.append(text.slice(from));
}
