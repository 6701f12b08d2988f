import type { ComponentChildren } from "preact";

/** WhatsApp's own markup: *bold*, _italic_, ~struck~ and ```fixed```. */
const MARKS =
  /```([^`]+)```|(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)|(?<!\w)~(?=\S)([^~\n]+?)(?<=\S)~(?!\w)/g;

/** A text as WhatsApp shows it. */
export function WhatsAppText({ text }: { text: string }) {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(MARKS)) {
    const [all, code, bold, italic, struck] = match;
    parts.push(text.slice(from, match.index));
    if (code) parts.push(<code>{code}</code>);
    else if (bold) parts.push(<strong>{bold}</strong>);
    else if (italic) parts.push(<em>{italic}</em>);
    else parts.push(<s>{struck}</s>);
    from = match.index + all.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}
