import { signal } from "@preact/signals";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { body } from "../api/client";
import { api, hasRole } from "../api/sign_in";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/icons";
import { consoleHash } from "../ui/Markdown";
import { useResource } from "../ui/resource";
import { navigate, to, toRecord } from "./router";
import { visibleSections } from "./sections";
import { settings } from "./settings";

const isOpen = signal(false);

/** Open the command palette. */
export function openPalette(): void {
  isOpen.value = true;
}

interface Command {
  icon: IconName;
  label: string;
  detail?: string;
  address: string;
}

/** Ctrl K or Cmd K: go to a section, a record or a conversation by some letters of its name. */
export function CommandPalette() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        isOpen.value = !isOpen.value;
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return isOpen.value ? <Palette /> : null;
}

function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const commands = useCommands(text.trim());
  const index = Math.min(chosen, Math.max(0, commands.length - 1));
  useEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    // Closing gives the focus back; an open dialog that is removed loses it.
    return () => opened?.close();
  }, []);
  const close = () => (isOpen.value = false);
  const open = (command: Command | undefined) => {
    if (!command) return;
    close();
    navigate(command.address);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((index + step + commands.length) % Math.max(1, commands.length));
    else if (event.key === "Enter") open(commands[index]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Search or jump to" closedby="any" onClose={close}>
      <label>
        <span class="visually-hidden">Search or jump to</span>
        <input
          type="search"
          role="combobox"
          list={undefined}
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={commands.length ? `${listId}-${index}` : undefined}
          autocomplete="off"
          placeholder="Search or jump to …"
          value={text}
          onInput={(event) => (setText(event.currentTarget.value), setChosen(0))}
          onKeyDown={onKeyDown}
        />
      </label>
      <ul id={listId} role="listbox" aria-label="Results">
        {commands.map((command, position) => (
          <li key={command.address} role="presentation">
            <a
              id={`${listId}-${position}`}
              role="option"
              aria-selected={position === index}
              tabIndex={-1}
              href={command.address}
              onMouseMove={() => setChosen(position)}
              onClick={close}
            >
              <Icon name={command.icon} />
              <span>{command.label}</span>
              {command.detail && <span class="soft">{command.detail}</span>}
            </a>
          </li>
        ))}
      </ul>
      {!commands.length && <p class="soft">Nothing is called that.</p>}
    </dialog>
  );
}

/** Return the sections that match, the records whose name matches, and a full search. */
function useCommands(text: string): readonly Command[] {
  const sections = visibleSections(settings.value?.local ?? false)
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .map(({ key, label, icon }): Command => ({ icon, label, detail: "Section", address: `#/${key}` }));
  const found = useResource((signal) => findByName(text, signal), [text]);
  const search: Command[] = text
    ? [{ icon: "search", label: `Search for “${text}”`, detail: "In all texts", address: to(["search"], { q: text }) }]
    : [];
  return [...sections, ...(text.length > 1 ? (found.data ?? []) : []), ...search];
}

async function findByName(text: string, signal: AbortSignal): Promise<readonly Command[]> {
  if (text.length < 2) return [];
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (signal.aborted) return [];
  const records = body(api.GET("/v1/entities", { params: { query: { text, limit: 6 } }, signal }));
  const conversations = hasRole("viewer")
    ? body(api.GET("/v1/conversations", { params: { query: { text, limit: 4 } }, signal }))
    : Promise.resolve({ conversations: [] });
  const [{ entities }, { conversations: threads }] = await Promise.all([records, conversations]);
  return [
    ...entities.map((record): Command => ({
      icon: "document",
      label: record.name,
      detail: record.type_name,
      address: record.link ? consoleHash(record.link) : toRecord(record.handle),
    })),
    ...threads.map((thread): Command => ({
      icon: "chat",
      label: thread.title || "Conversation",
      detail: "Conversation",
      address: to(["conversations", thread.id]),
    })),
  ];
}
