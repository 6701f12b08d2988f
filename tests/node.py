"""Node.js as `make environments` installs it."""

from pathlib import Path

NODE = Path(__file__).resolve().parents[1] / ".parlour" / "node" / "bin" / "node"
