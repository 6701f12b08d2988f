"""The process that reads a file somebody uploaded: `python -m parlour.files.extract.child_process KIND FILE OUT ...`.

It has no credentials, little memory and little time, and sees nothing but the file. Whatever a parser does to it,
the file fails and nothing else does. OUT gets the text as JSON, or {"problem": reason}.
"""

import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from parlour.files.extract.chunks import chunk_parts
from parlour.files.extract.parts import Part
from parlour.infra.errors import UnreadableFile
from parlour.infra.json_values import JsonObject

_READERS: Mapping[str, tuple[str, str]] = {
    "pdf": ("pdf", "extract"),
    "docx": ("word", "extract"),
    "xlsx": ("sheets", "extract"),
    "pptx": ("slides", "extract"),
    "html": ("html", "extract"),
    "email": ("email", "extract"),
    "csv": ("sheets", "extract_csv"),
    "markdown": ("plain_text", "extract"),
    "text": ("plain_text", "extract"),
}
_PACKAGE = "parlour.files.extract"
_LARGEST_OUTPUT = 64 * 1024 * 1024
"""The parent takes it into memory as a whole; the longest text that is taken is a fraction of it."""


def main(arguments: Sequence[str]) -> int:
    """Read one file within the limits given: KIND FILE OUT MEMORY_BYTES SECONDS."""
    kind, source, out, memory, seconds = arguments
    limits = {
        resource.RLIMIT_AS: int(memory),
        resource.RLIMIT_CPU: int(seconds),
        resource.RLIMIT_FSIZE: _LARGEST_OUTPUT,
        resource.RLIMIT_CORE: 0,
    }
    for name, most in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(name, (most, most))
    Path(out).write_text(json.dumps(_extract_json(kind, Path(source))), "utf-8")
    return 0


def _extract_json(kind: str, source: Path) -> JsonObject:
    module, function = _READERS[kind]
    try:
        read: Callable[[Path], list[Part]] = getattr(import_module(f"{_PACKAGE}.{module}"), function)
        return asdict(chunk_parts(read(source)))
    except UnreadableFile as problem:
        return {"problem": problem.reason}
    except MemoryError:
        return {"problem": "too_much_memory"}
    except RecursionError:
        return {"problem": "broken"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
