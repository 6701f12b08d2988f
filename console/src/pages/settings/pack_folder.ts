import { Problem } from "../../api/problem";

/** What `parlour apply` skips too: hidden files and folders, and the folder's own description. */
const IGNORED_FILES = new Set(["README.md"]);

/** Return the texts of a folder that the reader chose, by path below it. Throw a Problem for a file that is not text. */
export async function readPackFolder(chosen: FileList): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const file of chosen) {
    const path = file.webkitRelativePath.split("/").slice(1).join("/");
    if (IGNORED_FILES.has(path) || path.split("/").some((part) => part.startsWith("."))) continue;
    try {
      files[path] = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      throw new Problem(0, "not_text", `${path} is not UTF-8 text. Remove it from the folder, then choose it again.`);
    }
  }
  if (!("tenant.yaml" in files)) {
    throw new Problem(0, "no_pack", "This folder has no tenant.yaml. Choose the folder of a pack.");
  }
  return files;
}
