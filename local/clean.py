"""`make clean`: remove what was built and kept, unless a stack is using it. Standard library only."""

import shutil
import sys

from local.problems import StackProblem
from local.state import FOLDER, ROOT, only_one

_MADE = (".venv", ".aws-sam", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")


def main() -> int:
    """Returns the exit status."""
    try:
        with only_one(FOLDER):
            for name in _MADE:
                shutil.rmtree(ROOT / name, ignore_errors=True)
            for cache in [*ROOT.glob("[!.]*/**/__pycache__")]:
                shutil.rmtree(cache, ignore_errors=True)
            shutil.rmtree(FOLDER, ignore_errors=True)
    except StackProblem as problem:
        sys.stderr.write(f"parlour: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
