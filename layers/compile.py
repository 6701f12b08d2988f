"""`python layers/compile.py BUILD_FOLDER`: compile the built layers to bytecode, after `sam build`.

A layer is read-only where it runs: without this every cold start compiles what it imports, which takes longer
than running it. The files say nothing of when they were made, so that unpacking cannot outdate them.
"""

import compileall
import sys
from collections.abc import Sequence
from pathlib import Path
from py_compile import PycInvalidationMode

LAYERS = ("DependenciesLayer", "SharedLayer", "ExtractionLayer")


def compile_layers(build_folder: Path) -> bool:
    """Compile the layers as `sam build` left them; False when a file of theirs is no Python."""
    return all(
        compileall.compile_dir(
            build_folder / layer,
            stripdir=str(build_folder / layer),
            prependdir="/opt",
            quiet=1,
            workers=0,
            invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
        )
        for layer in LAYERS
    )


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python layers/compile.py BUILD_FOLDER\n")
        return 2
    return 0 if compile_layers(Path(arguments[0])) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
