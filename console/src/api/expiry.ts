import { signal } from "@preact/signals";

/** Whether the API refused the sign-in since: the page stays, and asks for a new one. */
export const isExpired = signal(false);
