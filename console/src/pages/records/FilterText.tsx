import { useEffect, useState } from "preact/hooks";
import { setQuery } from "../../shell/router";

const PAUSE_MS = 300;

/** The filter of a list by a part of the name. It goes into the address after a pause in typing. */
export function FilterText({ label, value }: { label: string; value: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => setQuery({ text: text.trim() }), PAUSE_MS);
    return () => clearTimeout(timer);
    // A new value comes from the address: it replaces the text above.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      maxLength={100}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}
