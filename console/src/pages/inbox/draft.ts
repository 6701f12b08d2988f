import { useState } from "preact/hooks";
import { readTab, writeTab } from "../../api/storage";

/** What is typed into a field of a conversation. It survives a reload, a lost claim and a sign-in after a pause. */
export function useDraft(field: "reply" | "note" | "instruction", sessionId: string): [string, (text: string) => void] {
  const key = `parlour.${field}.${sessionId}`;
  const [text, setText] = useState(() => readTab<string>(key) ?? "");
  const write = (value: string) => {
    setText(value);
    writeTab(key, value || null);
  };
  return [text, write];
}
