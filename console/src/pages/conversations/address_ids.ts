const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Return whether a part of an address can be an id. A hand-typed one is not sent to the API. */
export function isId(text: string | null | undefined): text is string {
  return typeof text === "string" && ID.test(text);
}
