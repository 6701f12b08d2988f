// Building nodes. Text only ever becomes text: nothing here, or anywhere in the console, parses HTML.

/** An element with properties and children; `on` holds listeners, `data` goes to dataset, strings become text nodes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Show `text` in a notice element, or hide it when there is nothing to say. */
export function notice(element, text) {
  element.textContent = text || "";
  element.hidden = !text;
}

/** Grow a textarea with its text, up to six lines or so. */
export function autogrow(textarea) {
  const fit = () => {
    textarea.style.height = "auto";
    textarea.style.height = `${Math.min(textarea.scrollHeight, 160)}px`;
  };
  textarea.addEventListener("input", fit);
  return fit;
}

/** Enter sends, Shift+Enter makes a line; an input method's own Enter is left alone. */
export function sendOnEnter(textarea, form) {
  textarea.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

/** Keep a log at its end while the reader is there, also when it is shown or resized; leave it when they scrolled up. */
export function stickToEnd(log) {
  let atEnd = true;
  log.addEventListener("scroll", () => {
    if (log.clientHeight) atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  }, { passive: true });
  const toEnd = (force = false) => {
    if (force) atEnd = true;
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  new ResizeObserver(() => toEnd()).observe(log);
  return toEnd;
}
