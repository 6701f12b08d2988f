import { signal } from "@preact/signals";

/** How many items of the inbox are open; the navigation shows it. */
export const openCount = signal(0);
