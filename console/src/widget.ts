/**
 * The chat for a page of another host:
 *
 *     <script src="https://HOST/console/widget.js" data-binding="TENANT/BINDING" async></script>
 *
 * It draws a button and opens the chat in a frame. It is a classic script, so everything is inside one function.
 */
(() => {
  interface PublicAgent {
    name: string;
    face: string;
    colour: string;
  }

  const DEFAULT_COLOUR = "#1d5c4c";
  const STYLES = `
    :host { all: initial; }
    button, iframe { position: fixed; z-index: 2147483000; right: 20px; border: 0; }
    button {
      bottom: 20px; width: 60px; height: 60px; border-radius: 50%; padding: 0; cursor: pointer;
      background: var(--brand); color: var(--brand-ink); font: 600 22px/1 system-ui, sans-serif;
      box-shadow: 0 6px 24px rgb(0 0 0 / 28%);
    }
    button:focus-visible { outline: 3px solid Highlight; outline-offset: 3px; }
    iframe {
      bottom: 92px; width: min(400px, calc(100vw - 40px)); height: min(640px, calc(100dvh - 112px));
      border-radius: 14px; background: Canvas; box-shadow: 0 10px 40px rgb(0 0 0 / 32%);
    }
    iframe[hidden] { display: none; }
    @media (max-width: 480px) { iframe { right: 0; width: 100vw; height: calc(100dvh - 92px); border-radius: 0; } }
  `;

  const script = document.currentScript;
  if (script instanceof HTMLScriptElement) void show(script.src, script.dataset.binding ?? "");

  async function show(source: string, binding: string): Promise<void> {
    if (!/^[a-z0-9-]+\/[a-z0-9-]+$/.test(binding)) {
      return explain('data-binding names no agent. Write it as data-binding="TENANT/BINDING".');
    }
    const home = new URL(".", source);
    const agent = await readAgent(new URL(`agents/${binding}`, home));
    if (agent) draw(agent, new URL(`embed.html?agent=${binding}`, home).href);
    else {
      explain(
        `Either the binding ${binding} does not list ${location.host} in embed_hosts, or ${home.host} does not answer.`,
      );
    }
  }

  async function readAgent(address: URL): Promise<PublicAgent | null> {
    try {
      const response = await fetch(address, { credentials: "omit" });
      return response.ok ? ((await response.json()) as PublicAgent) : null;
    } catch {
      return null;
    }
  }

  function draw({ name, face, colour }: PublicAgent, page: string): void {
    const place = document.createElement("div");
    const root = place.attachShadow({ mode: "open" });
    // A style sheet of this kind needs no permission of the page's Content-Security-Policy.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
    root.adoptedStyleSheets = [sheet];
    place.style.setProperty("--brand", colour || DEFAULT_COLOUR);
    place.style.setProperty("--brand-ink", isLight(colour || DEFAULT_COLOUR) ? "#000" : "#fff");

    const frame = document.createElement("iframe");
    frame.title = `Chat with ${name}`;
    frame.hidden = true;
    const button = document.createElement("button");
    button.type = "button";
    const setOpen = (isOpen: boolean): void => {
      frame.hidden = !isOpen;
      button.textContent = isOpen ? "\u00d7" : face || "\u{1f4ac}";
      button.setAttribute("aria-expanded", String(isOpen));
      button.setAttribute("aria-label", isOpen ? "Close the chat" : `Chat with ${name}`);
      // The chat is loaded when somebody wants it.
      if (isOpen && !frame.src) frame.src = page;
    };
    button.onclick = () => {
      setOpen(frame.hidden);
      if (!frame.hidden) frame.focus();
    };
    root.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent && event.key === "Escape" && !frame.hidden) {
        setOpen(false);
        button.focus();
      }
    });
    root.append(frame, button);
    document.body.append(place);
    setOpen(false);
  }

  /** Return whether black is easier to read on a colour than white: by WCAG's relative luminance. */
  function isLight(colour: string): boolean {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(
      (start) => (parseInt(colour.slice(start, start + 2), 16) / 255) ** 2.2,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
  }

  function explain(reason: string): void {
    console.error(`Parlour: the chat is not shown. ${reason}`);
  }
})();
