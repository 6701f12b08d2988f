import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { toRecord } from "../../shell/router";
import { useResource } from "../../ui/resource";

/** A link to a record by its handle, with the record's name; its key until the name is read. */
export function RecordLink({ handle }: { handle: string }) {
  const name = useResource((signal) => readRecordName(handle, signal), [handle]);
  return <a href={toRecord(handle)}>{name.data ?? keyOf(handle)}</a>;
}

/** Return the key in a record's handle: "task/T-112" -> "T-112". */
export function keyOf(handle: string): string {
  return handle.split("/").slice(1).join("/");
}

/** Return the name of a record; "" for no handle. */
export async function readRecordName(handle: string, signal: AbortSignal): Promise<string> {
  if (!handle) return "";
  const path = { type_key: handle.split("/")[0] ?? "", key: keyOf(handle) };
  return (await body(api.GET("/v1/entities/{type_key}/{key}", { params: { path }, signal }))).name;
}
