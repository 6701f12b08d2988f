// Saving a file: where it is kept is asked for when somebody wants it, for the address is good for a minute.

import { h } from "./dom.js";

/** A button that saves the file; `fails` hears why not. The answer is an attachment, so the page stays. */
export function download(room, { id, name }, fails) {
  const save = async () => {
    try {
      const { url } = await room.ask("GET", `v1/files/${encodeURIComponent(id)}/content`);
      location.assign(url);
    } catch (error) {
      fails(`${name}: ${error.message}`);
    }
  };
  return h("button", { class: "link", type: "button", "aria-label": `Download ${name}`, on: { click: save } }, "Download");
}
