// What a prompt says, what was left out of it, and what changed from one to another.

import { h } from "./dom.js";
import { LAYERS, REASONS, STAYS, count, room, spaced } from "./layers.js";
import { size } from "./formatting.js";

const WHO = { user: "to the model", assistant: "by the model" };
const SHOWN = 20_000;

/** One segment's words, block by block, and the candidates that are in it. */
export function reading(step, segment, words) {
  const limits = step.layers.find(({ layer }) => layer === segment.layer);
  const inside = step.candidates.filter((one) => one.layer === segment.layer && one.is_included);
  return [
    h("h3", {}, h("i", { class: "swatch", data: { layer: segment.layer }, "aria-hidden": "true" }), sentence(segment.layer)),
    h("p", { class: "detail" }, [sentence(LAYERS[segment.layer] ?? ""), `${count(segment.tokens)} tokens`, room(limits), STAYS[segment.stability]].filter(Boolean).join(" · ")),
    ...segment.blocks.map((block) => said(block, words)),
    inside.length ? h("details", { class: "inside" }, h("summary", {}, `Sources (${inside.length})`), h("ul", { class: "candidates" }, ...inside.map(candidate))) : null,
  ].filter(Boolean);
}

function said(block, words) {
  const about = [WHO[block.role], `${count(block.tokens)} tokens`, block.is_cached ? "cached" : "", block.is_breakpoint ? "cache breakpoint" : ""].filter(Boolean).join(" · ");
  return h("div", { class: block.is_breakpoint ? "block marked" : "block" }, h("p", { class: "detail" }, about), block.is_json ? whole(block, words) : h("pre", {}, ...block.text_hashes.map((hash) => piece(words.get(hash)))));
}

function piece(text) {
  return typeof text === "string" ? shortened(text) : h("span", { class: "tombstone" }, "erased");
}

/** A tool's definition, a call, a result or an image; what is withheld has plain words in its place. */
function whole({ text_hashes: [hash], is_withheld: withheld }, words) {
  const text = words.get(hash);
  if (typeof text !== "string" || withheld) return h("pre", {}, piece(text));
  const value = JSON.parse(text);
  if (value.type === "image") return pictured(value.source);
  return h("pre", {}, shortened(JSON.stringify(typeof value.content === "string" ? { ...value, content: opened(value.content) } : value, null, 2)));
}

/** An image is kept by its name: its bytes are nowhere in a prompt's record. */
function pictured({ name, media_type: type, bytes }) {
  return h("p", { class: "soft" }, ["An image", name, type, bytes ? size(bytes) : ""].filter(Boolean).join(" · "));
}

function opened(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const shortened = (text) => (text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}\n… ${count(text.length - SHOWN)} more characters`);

/** What was left out, by reason, and what is in with fewer words. */
export function dropped({ candidates }) {
  const out = candidates.filter((one) => !one.is_included);
  const groups = Object.keys(REASONS).map((reason) => [reason, out.filter((one) => one.reason === reason)]).filter(([, some]) => some.length);
  const less = candidates.filter((one) => one.is_included && one.is_shortened);
  return h("section", { class: "dropped" },
    h("h3", {}, "Left out", h("span", {}, `${out.length} of ${candidates.length}`)),
    out.length ? null : h("p", { class: "soft" }, "None: every candidate fits."),
    ...groups.map(([reason, some]) => group(sentence(REASONS[reason]), some)),
    less.length ? group("Included, shortened", less) : null);
}

function group(title, some) {
  return h("div", {}, h("h4", {}, title, h("span", {}, String(some.length))), h("ul", { class: "candidates" }, ...some.map(candidate)));
}

function candidate(one) {
  const title = one.title || (one.is_erased ? "erased" : spaced(one.kind));
  const about = [spaced(one.kind), one.score ? `score ${one.score.toFixed(2)}` : "", `${spaced(one.source.table)} ${one.source.id.slice(0, 13)}`].filter(Boolean).join(" · ");
  return h("li", {}, h("i", { class: "swatch", data: { layer: one.layer }, "aria-hidden": "true" }),
    h("span", { class: one.is_withheld || (one.is_erased && !one.title) ? "name tombstone" : "name" }, title, h("span", { class: "detail" }, about)),
    h("span", { class: "amount" }, count(one.tokens)));
}

const CHANGES = { same: "unchanged", grown: "appended", changed: "changed", added: "added", removed: "removed" };

/** Two prompts compared, layer by layer and candidate by candidate. */
export function changes({ before, after, segments, first_change: first, ...sides }) {
  const lists = [["Added", sides.added], ["Removed", sides.removed], ["Included now, left out before", sides.now_in], ["Left out now, included before", sides.now_out]].filter(([, some]) => some.length);
  return [
    h("p", { class: "prompt-remark" }, `${place(before)}, ${count(before.tokens)} tokens → ${place(after)}, ${count(after.tokens)} tokens (${signed(after.tokens - before.tokens)})`),
    first ? parted(first) : h("p", { class: "soft" }, "No change."),
    h("div", { class: "prompt-body even" },
      h("section", { class: "legend" }, h("h3", {}, "Layers", h("span", {}, "tokens")), h("ul", {}, ...segments.map(change))),
      h("section", { class: "dropped" }, h("h3", {}, "Candidates"), ...lists.map(([title, some]) => group(title, some)), lists.length ? null : h("p", { class: "soft" }, "Unchanged."))),
  ];
}

function parted(first) {
  return h("section", { class: "parted" },
    h("h3", {}, h("i", { class: "swatch", data: { layer: first.layer }, "aria-hidden": "true" }), `First change in ${spaced(first.layer)}`, h("span", {}, `byte ${count(first.byte)}, block ${first.block}`)),
    h("pre", { class: "was" }, h("span", { class: "hidden-label" }, "before: "), first.before || "(empty)"),
    h("pre", { class: "is" }, h("span", { class: "hidden-label" }, "after: "), first.after || "(empty)"));
}

function change({ layer, placement, change: what, after, delta }) {
  const name = placement === "last" ? `${spaced(layer)} (repeated)` : spaced(layer);
  return h("li", { class: what }, h("span", { class: "layer-row" }, h("i", { class: "swatch", data: { layer }, "aria-hidden": "true" }),
    h("span", { class: "name" }, h("b", {}, name), h("span", { class: "detail" }, CHANGES[what])),
    h("span", { class: "amount" }, count(after)), h("span", { class: "limits" }, delta ? signed(delta) : "")));
}

const place = ({ number, step }) => `Turn ${number}, step ${step}`;
const signed = (value) => `${value < 0 ? "−" : "+"}${count(Math.abs(value))}`;

function sentence(text) {
  const plain = spaced(text);
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
