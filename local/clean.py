"""`make clean`: remove what was built and kept, unless a stack is using it. Standard library only."""

import shutil
import sys

from local.errors import StackError
from local.state import ROOT, STATE_FOLDER, lock_folder

_GENERATED = (
    ".venv",
    ".aws-sam",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    "console/node_modules",
    "examples/node_modules",
    "examples/parlour_client",
    "shared/parlour/api/console",
    "tests/browser/node_modules",
    "tests/protocol_server/node_modules",
    "tests/chatwoot_api/node_modules",
)


def main() -> int:
    """Returns the exit status."""
    try:
        with lock_folder(STATE_FOLDER):
            for name in _GENERATED:
                shutil.rmtree(ROOT / name, ignore_errors=True)
            for cache in [*ROOT.glob("[!.]*/**/__pycache__")]:
                shutil.rmtree(cache, ignore_errors=True)
            shutil.rmtree(STATE_FOLDER, ignore_errors=True)
    except StackError as problem:
        sys.stderr.write(f"parlour: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
