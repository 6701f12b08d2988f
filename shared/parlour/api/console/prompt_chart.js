// A prompt drawn: one bar as long as its budget, a part for each segment in the order of the bytes, and its legend.

import { h } from "./dom.js";
import { LAYERS, count, percent, spaced } from "./layers.js";

const LABELLED = 0.085; // from this share of the bar on a part has room for its name
const LEAST = 0.016; // of the bar: no part is narrower, or nobody could hit it

/** The bar: parts to click, the cached part above it, the marks below it, and what is left of the budget. */
export function picture(step, total, chosen, choose) {
  const place = scale(step.segments.map(({ tokens }) => tokens), Math.max(total, step.tokens));
  const unused = Math.max(0, total - step.tokens);
  const parts = step.segments.map((segment, number) => part(segment, number, place, step, chosen, choose));
  const left = h("span", { class: "part left", title: `${count(unused)} tokens of the budget are unused` });
  const bar = h("div", { class: "stack", role: "group", "aria-label": "The prompt by layer, in the order of its bytes" }, ...parts, left);
  bar.addEventListener("keydown", walk);
  return h("figure", { class: "picture" }, cached(step, place), bar, marks(step, place),
    h("figcaption", { class: "hidden-label" }, `${count(step.tokens)} of ${count(total)} tokens`));
}

/** Where the bar has which token, as a share of it: thin parts are as wide as one can hit, and the others that much less. */
function scale(sizes, whole) {
  const shares = [...sizes, whole - sizes.reduce((sum, one) => sum + one, 0)].map((size) => Math.max(0, size / whole));
  const isThin = shares.map((share, number) => number < sizes.length && share < LEAST);
  const thin = isThin.filter(Boolean).length * LEAST;
  const others = shares.reduce((sum, share, number) => sum + (isThin[number] ? 0 : share), 0);
  const widths = shares.map((share, number) => (isThin[number] ? LEAST : (share * (1 - thin)) / others));
  return { width: (number) => widths[number], until: (tokens) => reached(tokens, sizes, widths) };
}

/** How far the first `tokens` reach. */
function reached(tokens, sizes, widths) {
  let left = tokens;
  return sizes.reduce((sum, size, number) => {
    const taken = Math.max(0, Math.min(left, size));
    left -= size;
    return sum + (size ? (taken / size) * widths[number] : 0);
  }, 0);
}

function part(segment, number, place, step, chosen, choose) {
  const { layer, tokens } = segment;
  const name = `${spaced(layer)}: ${count(tokens)} tokens, ${percent(tokens / step.tokens)} of the prompt`;
  const button = h("button", { type: "button", class: "part", title: name, "aria-label": name, "aria-pressed": String(number === chosen), data: { layer, place: String(number) }, on: { click: () => choose(number) } },
    place.width(number) > LABELLED ? h("span", {}, spaced(layer)) : null);
  button.style.setProperty("--part", String(place.width(number)));
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

function cached({ cached: { tokens } }, place) {
  if (!tokens) return null;
  const line = h("div", { class: "cached-line" }, h("span", {}, `${count(tokens)} cached`));
  line.style.setProperty("--part", String(place.until(tokens)));
  return line;
}

function marks(step, place) {
  if (!step.breakpoints.length) return null;
  return h("div", { class: "marks" }, ...step.breakpoints.map(({ tokens }) => {
    const mark = h("i", { title: `cache breakpoint after ${count(tokens)} tokens` });
    mark.style.setProperty("--part", String(place.until(tokens)));
    return mark;
  }), h("span", { class: "hidden-label" }, `Cache breakpoints after ${step.breakpoints.map(({ tokens }) => count(tokens)).join(", ")} tokens`));
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
