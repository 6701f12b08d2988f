// A prompt drawn: one bar as long as its budget, a part for each segment in the order of the bytes, and its legend.

import { h } from "./dom.js";
import { LAYERS, count, percent, spaced } from "./layers.js";

const LABELLED = 0.085; // from this share of the bar on a part has room for its name

/** The bar: parts to click, the cached part above it, the marks below it, and what is left of the budget. */
export function picture(step, total, chosen, choose) {
  const whole = Math.max(total, step.tokens);
  const parts = step.segments.map((segment, place) => part(segment, place, whole, step, chosen, choose));
  const left = h("span", { class: "part left", title: `${count(whole - step.tokens)} tokens of the budget were not used` });
  left.style.setProperty("--part", String((whole - step.tokens) / whole));
  const bar = h("div", { class: "stack", role: "group", "aria-label": "The prompt by layer, in the order of its bytes" }, ...parts, left);
  bar.addEventListener("keydown", walk);
  return h("figure", { class: "picture" }, cached(step, whole), bar, marks(step, whole),
    h("figcaption", { class: "hidden-label" }, `${count(step.tokens)} of ${count(total)} tokens`));
}

function part(segment, place, whole, step, chosen, choose) {
  const { layer, tokens } = segment;
  const name = `${spaced(layer)}: ${count(tokens)} tokens, ${percent(tokens / step.tokens)} of the prompt`;
  const button = h("button", { type: "button", class: "part", title: name, "aria-label": name, "aria-pressed": String(place === chosen), data: { layer, place: String(place) }, on: { click: () => choose(place) } },
    tokens / whole > LABELLED ? h("span", {}, spaced(layer)) : null);
  button.style.setProperty("--part", String(tokens / whole));
  return button;
}

/** Left and right go from part to part. */
function walk(event) {
  const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const parts = [...event.currentTarget.querySelectorAll("button")];
  const next = parts[parts.indexOf(document.activeElement) + way];
  if (!way || !next) return;
  event.preventDefault();
  next.focus();
}

function cached({ cached: { tokens } }, whole) {
  if (!tokens) return null;
  const line = h("div", { class: "cached-line" }, h("span", {}, `${count(tokens)} cached`));
  line.style.setProperty("--part", String(tokens / whole));
  return line;
}

function marks(step, whole) {
  if (!step.marks.length) return null;
  return h("div", { class: "marks" }, ...step.marks.map(({ tokens }) => {
    const mark = h("i", { title: `marked for the cache after ${count(tokens)} tokens` });
    mark.style.setProperty("--part", String(tokens / whole));
    return mark;
  }), h("span", { class: "hidden-label" }, `Marked for the cache after ${step.marks.map(({ tokens }) => count(tokens)).join(", ")} tokens`));
}

/** All layers with their tokens, their share, floor and cap; those that are in the prompt can be read. */
export function legend(step, chosen, choose) {
  const rows = step.layers.map((layer) => row(layer, step.segments.findIndex((one) => one.layer === layer.layer), chosen, choose));
  return h("section", { class: "legend" },
    h("h3", {}, "Layers", h("span", {}, "tokens · floor to cap")),
    h("ul", {}, ...rows));
}

function row({ layer, number, tokens, share, floor, cap }, place, chosen, choose) {
  const limits = cap === null ? "" : floor === cap ? count(cap) : `${count(floor)} – ${count(cap)}`;
  const inside = [
    h("i", { class: "swatch", data: { layer }, "aria-hidden": "true" }),
    h("span", { class: "name" }, h("b", {}, `${number} ${spaced(layer)}`), h("span", { class: "detail" }, LAYERS[layer])),
    h("span", { class: "amount" }, tokens ? `${count(tokens)}` : "–", h("span", { class: "detail" }, tokens ? percent(share) : "")),
    h("span", { class: "limits" }, limits),
  ];
  if (place < 0) return h("li", { class: "empty" }, h("span", { class: "layer-row" }, ...inside));
  return h("li", {}, h("button", { type: "button", class: "layer-row", "aria-pressed": String(place === chosen), data: { place: String(place) }, on: { click: () => choose(place) } }, ...inside));
}
