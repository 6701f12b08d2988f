/** The console is in English; numbers and dates are as the reader's English writes them. */
const LOCALE = navigator.languages.find((language) => /^en(-[A-Z]{2})?$/.test(language)) ?? "en-GB";

/** 1234.5 -> "1,235". */
export function count(value: number): string {
  return Math.round(value).toLocaleString(LOCALE);
}

/** "1 call", "3 calls". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** 850 -> "850 ms"; 12345 -> "12.3 s"; 125000 -> "2 min 5 s". */
export function milliseconds(value: number): string {
  if (value < 1_000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1_000).toFixed(value < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(value / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** US dollars, small amounts with two significant digits. */
export function dollars(amount: string | number | null | undefined): string {
  if (amount === null || amount === undefined) return "unknown";
  const value = Number(amount);
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(value < 1 ? 3 : 2)}`;
}

/** 1536 -> "1.5 kB". */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let [amount, unit] = [value, 0];
  while (amount >= 1_000 && unit < units.length - 1) [amount, unit] = [amount / 1_000, unit + 1];
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto", style: "short" });
const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];

/** "now", "5 min. ago", "yesterday"; a date after a week. */
export function ago(at: string | number | Date, now = Date.now()): string {
  let amount = (new Date(at).getTime() - now) / 1_000;
  if (Math.abs(amount) < 30) return "now";
  for (const [unit, size] of STEPS) {
    if (Math.abs(amount) < size) return RELATIVE.format(Math.round(amount), unit);
    amount /= size;
  }
  return date(at);
}

/** "24 Nov 2026". */
export function date(at: string | number | Date): string {
  return new Date(at).toLocaleDateString(LOCALE, { day: "numeric", month: "short", year: "numeric" });
}

/** "24 Nov 2026, 14:02". */
export function dateTime(at: string | number | Date): string {
  return new Date(at).toLocaleString(LOCALE, { dateStyle: "medium", timeStyle: "short" });
}

/** "14:02". */
export function clock(at: string | number | Date): string {
  return new Date(at).toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit" });
}

/** "unknown_effect" -> "Unknown effect". */
export function sentenceCase(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
