import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import bundled, { inflate } from "@sparticuz/chromium";

const SYSTEM = "/usr/bin/chromium";
const MODULES = join(import.meta.dirname, "node_modules");
// `npm ci` empties node_modules, so a new version of the package is unpacked again.
const UNPACKED = join(MODULES, ".chromium");
const LIBRARIES = join(UNPACKED, "al2023", "lib");

const FONTS = join(UNPACKED, "fonts.conf");
// The package's own file looks for fonts in /tmp.
const FONTS_CONFIGURATION = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${join(UNPACKED, "fonts")}</dir>
  <cachedir>${join(UNPACKED, "fonts-cache")}</cachedir>
</fontconfig>
`;

export interface Browser {
  executablePath: string;
  env: Record<string, string>;
}

/** Return Debian's Chromium where it is installed, else the one of the npm package. */
export async function findBrowser(): Promise<Browser> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]),
  );
  if (existsSync(SYSTEM)) return { executablePath: SYSTEM, env: inherited };
  if (process.arch !== "x64") {
    throw new Error("The npm package has no browser for this processor: install the system package `chromium`.");
  }
  if (!existsSync(UNPACKED)) await unpack();
  const executablePath = join(UNPACKED, "chromium");
  const env = { ...inherited, FONTCONFIG_FILE: FONTS };
  if (!lacksLibraries(executablePath)) return { executablePath, env };
  const path = [LIBRARIES, inherited.LD_LIBRARY_PATH].filter(Boolean).join(":");
  return { executablePath, env: { ...env, LD_LIBRARY_PATH: path } };
}

/** Unpack the package's files, which it does into TMPDIR: here a folder that gets its name once it is complete. */
async function unpack(): Promise<void> {
  const before = process.env.TMPDIR;
  const unfinished = `${UNPACKED}-${process.pid}`;
  mkdirSync(unfinished);
  process.env.TMPDIR = unfinished;
  try {
    await bundled.executablePath();
    await inflate(join(MODULES, "@sparticuz", "chromium", "bin", "al2023.tar.br"));
    writeFileSync(join(unfinished, "fonts.conf"), FONTS_CONFIGURATION);
    renameSync(unfinished, UNPACKED);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function lacksLibraries(program: string): boolean {
  return execFileSync("ldd", [program], { encoding: "utf8" }).includes("not found");
}
