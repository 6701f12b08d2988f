/** Return what this tab keeps under a name; null if there is nothing, or the browser keeps nothing. */
export function readTab<Value>(name: string): Value | null {
  return read<Value>(() => sessionStorage.getItem(name));
}

/** Keep a value for this tab; null removes it. */
export function writeTab(name: string, value: unknown): void {
  write(() => sessionStorage, name, value);
}

/** Return what this browser keeps under a name. */
export function readBrowser<Value>(name: string): Value | null {
  return read<Value>(() => localStorage.getItem(name));
}

/** Keep a value for this browser; null removes it. */
export function writeBrowser(name: string, value: unknown): void {
  write(() => localStorage, name, value);
}

function read<Value>(stored: () => string | null): Value | null {
  try {
    const text = stored();
    return text === null ? null : (JSON.parse(text) as Value);
  } catch {
    return null;
  }
}

function write(storage: () => Storage, name: string, value: unknown): void {
  try {
    if (value === null) storage().removeItem(name);
    else storage().setItem(name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing only loses this on reload.
  }
}
