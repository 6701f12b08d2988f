"""The inspector's reading of a prompt, run by Node.js with the least of a page that it needs."""

import subprocess
from pathlib import Path

import pytest

from tests.node import NODE

READING = Path("shared/parlour/api/console/prompt_text.js").resolve()

_SHOWN = """
class Element {
  constructor(name) { this.name = name; this.parts = []; this.dataset = {}; }
  append(...parts) { this.parts.push(...parts); }
  setAttribute() {}
  get text() { return this.parts.map((one) => one.text ?? String(one)).join(" "); }
}
globalThis.document = { createElement: (name) => new Element(name), getElementById: () => null };
const { reading } = await import(process.argv[1]);
const block = (number, withheld) =>
  ({ number, role: "user", tokens: 1, text_hashes: [`hash${number}`], is_json: true, is_withheld: withheld });
const segment = { layer: "history", tokens: 2, stability: "append_only", blocks: [block(1, true), block(2, false)] };
const words = new Map([
  ["hash1", "(closed or deleted since)"],
  ["hash2", JSON.stringify({ type: "tool_result", content: "found" })],
]);
const shown = reading({ layers: [{ layer: "history", floor: null, cap: null }], candidates: [] }, segment, words);
console.log(shown.map((one) => one.text).join("\\n"));
"""


def test_a_layer_is_shown_with_what_is_withheld_in_it() -> None:
    if not NODE.is_file():
        pytest.fail("Node.js is missing; run: make environments")
    run = [NODE, "--input-type=module", "-e", _SHOWN, str(READING)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "(closed or deleted since)" in done.stdout
    assert '"content": "found"' in done.stdout
