// The signs of kinds of records: drawn as strokes, coloured by the style sheet. A kind without one shows its letter.

import { h } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

const PATHS = {
  alert: "M12 4 21 20H3ZM12 10v4.5M12 17.2v.3",
  arrows: "M4 9h14M14.5 5.5 18 9l-3.5 3.5M20 15H6M9.5 11.5 6 15l3.5 3.5",
  book: "M5 5.5A1.5 1.5 0 0 1 6.5 4H19v16H6.5A1.5 1.5 0 0 1 5 18.5ZM5 17h14",
  box: "M4 8l8-4 8 4v8l-8 4-8-4ZM4 8l8 4 8-4M12 12v8",
  building: "M5 20V5h9v15M14 10h5v10M3 20h18M8 9h3M8 13h3",
  calendar: "M5 6h14v14H5ZM5 10h14M9 3.5v4M15 3.5v4",
  chat: "M4 6h16v11H11l-4.5 3.5V17H4Z",
  check: "M5 5h14v14H5ZM8.5 12l2.5 2.5 4.5-5",
  clip: "M17 8l-7.3 7.3a1.9 1.9 0 0 0 2.7 2.7l7.3-7.3a3.8 3.8 0 0 0-5.4-5.4l-7.6 7.6a5.7 5.7 0 0 0 8 8l6-6",
  coins: "M12 5a7 3 0 1 1 0 6 7 3 0 1 1 0-6M5 8v8c0 1.7 3.1 3 7 3s7-1.3 7-3V8M5 12c0 1.7 3.1 3 7 3s7-1.3 7-3",
  document: "M6 3.5h8l4 4v13H6ZM14 3.5v4h4M9 12h6M9 15.5h6",
  file: "M6 3.5h8l4 4v13H6ZM14 3.5v4h4",
  flag: "M6 21V4M6 5h11l-2.5 3.5L17 12H6",
  folder: "M3.5 6.5h6l2 2.5h9v10h-17Z",
  gear: "M12 8.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M18.4 5.6l-2.1 2.1M7.7 16.3l-2.1 2.1",
  image: "M4 5h16v14H4ZM4 16l5-5 4.5 4.5L16 13l4 4M15.5 9h.3",
  link: "M10 14a4 4 0 0 0 5.7 0l2.8-2.8a4 4 0 0 0-5.7-5.7L11.5 6.8M14 10a4 4 0 0 0-5.7 0l-2.8 2.8a4 4 0 0 0 5.7 5.7l1.3-1.3",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.3M4.5 12h.3M4.5 18h.3",
  map: "M4 6l5-2 6 2 5-2v14l-5 2-6-2-5 2ZM9 4v14M15 6v14",
  archive: "M4 5h16v4H4ZM5.5 9v10h13V9M10 13h4",
  pin: "M9 4h6l-.7 6 3 3.5H6.7l3-3.5ZM12 13.5V20",
  pen: "M5 19l1-4L16.5 4.5l3 3L9 18Z M14 7l3 3",
  person: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8M4.5 20.5c.8-4 3.7-6 7.5-6s6.7 2 7.5 6",
  ruler: "M4 16 16 4l4 4L8 20ZM7.5 12.5l2 2M10.5 9.5l2 2M13.5 6.5l2 2",
  scale: "M12 4v16M7 20h10M5 7h14M5 7l-2.5 6h5ZM19 7l-2.5 6h5Z",
  scroll: "M7 4h11v13a3 3 0 0 1-3 3H6a3 3 0 0 1-3-3v-1h9M7 4a2.5 2.5 0 0 0-2.5 2.5V9H7ZM10 8h5M10 11.5h5",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13M15.5 15.5 20.5 20.5",
  shield: "M12 3.5l7 2.5v6c0 4.5-3 7-7 8.5-4-1.5-7-4-7-8.5V6ZM9 12l2.2 2.2L15 10",
  star: "M12 4l2.5 5.2 5.5.8-4 4 1 5.7-5-2.7-5 2.7 1-5.7-4-4 5.5-.8Z",
  table: "M4 5h16v14H4ZM4 10h16M4 14.5h16M10 10v9",
  tag: "M4 4h8l8 8-8 8-8-8ZM8.3 8.3h.3",
  target: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 12h.1",
  truck: "M3 6h11v10H3ZM14 9.5h4l3 3.5v3h-7M7 15.5a2 2 0 1 1 0 4 2 2 0 0 1 0-4M17 15.5a2 2 0 1 1 0 4 2 2 0 0 1 0-4",
};

/** Other words for the same drawings. */
const ALSO = { warning: "alert", contract: "scroll", money: "coins", user: "person", clipboard: "list", report: "document", message: "chat", settings: "gear" };

/** Signs of the usual kinds, for a pack that defines one of them and says nothing of how it looks. */
const USUAL = {
  project: ["folder", "blue"],
  document: ["document", "grey"],
  task: ["check", "green"],
  goal: ["target", "violet"],
  plan: ["map", "teal"],
  milestone: ["flag", "amber"],
  risk: ["alert", "red"],
  requirement: ["ruler", "indigo"],
  output: ["box", "brown"],
  finding: ["search", "orange"],
  contract: ["scroll", "navy"],
  conversation: ["chat", "cyan"],
  permit: ["shield", "cyan"],
  change_order: ["arrows", "orange"],
};

const COLOURS = new Set(["amber", "blue", "brown", "cyan", "green", "grey", "indigo", "navy", "orange", "red", "teal", "violet"]);
const OTHER_NAMES = { gray: "grey", slate: "grey", yellow: "amber", pink: "red", purple: "violet" };

/** The badge of a kind: its sign in its colour, for the eye only; the kind's name stands beside it as text. */
export function sign({ type, icon, colour }) {
  const [usual, hue] = USUAL[type] ?? [null, "grey"];
  const asked = plainly(icon);
  const path = PATHS[ALSO[asked] ?? asked] ?? PATHS[usual];
  const letter = (type || "?").charAt(0).toUpperCase();
  return h("span", { class: "sign", "aria-hidden": "true", data: { colour: named(colour) ?? hue } }, path ? stroke(path) : letter);
}

/** One drawing by its name. */
export function glyph(name) {
  return stroke(PATHS[name]);
}

function stroke(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("focusable", "false");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

function named(colour) {
  const asked = plainly(colour);
  const known = OTHER_NAMES[asked] ?? asked;
  return COLOURS.has(known) ? known : null;
}

const plainly = (name) => String(name ?? "").trim().toLowerCase();
