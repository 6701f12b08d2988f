import { useEffect, useId, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { useResource } from "../../ui/resource";
import { readRecordName } from "./RecordLink";

type Offered = Pick<Schema["RecordView"], "handle" | "name" | "type_name">;

const MOST_OFFERED = 8;
const PAUSE_MS = 200;

interface RecordPickerProps {
  /** The label for screen readers; leave it out if a `<label>` names `id`. */
  label?: string;
  id?: string;
  /** Offer records of this type only. */
  type?: string;
  placeholder?: string;
  handle: string;
  /** Called with the chosen handle, "" for none. */
  onChoose: (handle: string) => void;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

/** A field in which a record is chosen by a part of its name or key. */
export function RecordPicker({
  label,
  id,
  type = "",
  placeholder = "Name or key",
  handle,
  onChoose,
  ...aria
}: RecordPickerProps) {
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState<string | null>(null); // null: nothing is typed, the chosen record is shown
  const [active, setActive] = useState(0);
  const chosen = useResource((signal) => readRecordName(handle, signal), [handle]);
  const offered = useResource(
    (signal) => (text === null ? Promise.resolve([]) : offer(text, type, signal)),
    [text, type],
  );
  const options = text === null ? [] : (offered.data ?? []);
  const index = Math.min(active, Math.max(0, options.length - 1));
  useEffect(() => setActive(0), [text]);
  const choose = (record: Offered | undefined) => {
    if (!record) return;
    onChoose(record.handle);
    setText(null);
  };
  const leave = () => {
    if (text?.trim() === "") onChoose("");
    setText(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && text === null) setText("");
    else if (step) setActive((index + step + options.length) % Math.max(1, options.length));
    else if (event.key === "Enter" && text !== null) choose(options[index]);
    else if (event.key === "Escape" && text !== null) setText(null);
    else return;
    event.preventDefault();
  };
  return (
    <span class="records-picker">
      <input
        {...aria}
        ref={input}
        id={id}
        aria-label={label}
        role="combobox"
        aria-expanded={options.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={options.length ? `${listId}-${index}` : undefined}
        autocomplete="off"
        maxLength={200}
        placeholder={placeholder}
        value={text ?? chosen.data ?? handle}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={leave}
      />
      <ul id={listId} role="listbox" aria-label="Records" hidden={!options.length}>
        {options.map((record, position) => (
          // The keyboard chooses through the field.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <li
            key={record.handle}
            id={`${listId}-${position}`}
            role="option"
            aria-selected={position === index}
            onMouseMove={() => setActive(position)}
            onMouseDown={(event) => event.preventDefault()} // The field keeps the focus.
            onClick={() => choose(record)}
          >
            <span>{record.name}</span>
            <span class="soft">{record.type_name}</span>
          </li>
        ))}
      </ul>
      {text?.trim() && offered.data?.length === 0 && !offered.isLoading && (
        <span class="records-picker-none soft">No record is called that.</span>
      )}
    </span>
  );
}

async function offer(text: string, type: string, signal: AbortSignal): Promise<readonly Offered[]> {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  if (signal.aborted) return [];
  const query = { text: text.trim(), type, limit: MOST_OFFERED };
  return (await body(api.GET("/v1/entities", { params: { query }, signal }))).entities;
}
