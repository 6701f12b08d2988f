"""`python -m parlour.pack_functions.description FOLDER`: prints the tools of a pack's functions as JSON.

It imports the builder's code. So it runs in a process of its own.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from parlour.pack_functions.tool import FunctionTool


def describe_folder(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the tools that the modules of a folder define, by name."""
    sys.path.insert(0, str(folder))
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.py")):
        module = importlib.import_module(path.stem)
        for name, value in vars(module).items():
            if isinstance(value, FunctionTool) and value.__wrapped__.__module__ == path.stem:
                if value.name in found:
                    raise TypeError(f"two functions define the tool {value.name}")
                found[value.name] = value.definition(f"{path.stem}.{name}")
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(describe_folder(Path(sys.argv[1]))))
