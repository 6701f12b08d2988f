"""Start the AWS emulator within what a laptop can bear. Runs in the emulator's own environment.

By itself it unpacks every layer anew for every worker (200 MB and 10,000 files each time), and starts as many workers
at once as there are calls. Here all workers read each layer from one extracted copy, as Lambda's read-only /opt is,
and a call beyond the eighth of a function waits for a worker. The standard library and the pinned emulator only.
"""

import hashlib
import importlib
import os
import shutil
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_MIN_KEPT_LAYERS = 4
"""Extracted layers that are kept whatever their age; each release of the code has two."""

_MAX_AGE_SECONDS = 24 * 3600
_MAX_WORKERS = 8
"""At once for one function. None of ours calls itself, so nobody waits for a worker that its own caller holds."""


class LayerZip(zipfile.ZipFile):
    """A zip file that, when it is a layer's, is extracted once and linked to afterwards."""

    cache_folder: Path
    #: One extraction at a time: workers that start together would each write 10,000 files, and time out over it.
    extracting = threading.Lock()

    def __init__(self, file: str, *args: Any, **named: Any) -> None:
        super().__init__(file, *args, **named)
        self._file = Path(file)
        self._is_layer = self._file.name.startswith("layer_")

    def namelist(self) -> list[str]:
        """The emulator looks for names that lead out of the folder; `extractall` lets none out by itself."""
        return [] if self._is_layer else super().namelist()

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """As always for a function's code; a layer becomes a link to the one copy of it."""
        if not self._is_layer:
            super().extractall(path, members, pwd)
            return
        copy = self._extracted_copy()
        Path(path).rmdir()
        Path(path).symlink_to(copy, target_is_directory=True)
        self._file.unlink()

    def _extracted_copy(self) -> Path:
        copy = self.cache_folder / hashlib.sha256(self._file.read_bytes()).hexdigest()
        with self.extracting:
            if not copy.exists():
                unpacked = Path(tempfile.mkdtemp(dir=self.cache_folder, prefix="unpacking-"))
                super().extractall(unpacked, super().namelist())
                try:
                    unpacked.rename(copy)
                except OSError:  # another emulator was quicker
                    shutil.rmtree(unpacked, ignore_errors=True)
        os.utime(copy)
        return copy


def remove_old_layers(cache_folder: Path, now: float) -> None:
    """Take layers from the shelf that nobody has used for a day."""
    by_use = sorted(cache_folder.iterdir(), key=lambda copy: copy.stat().st_mtime, reverse=True)
    for copy in by_use[_MIN_KEPT_LAYERS:]:
        if now - copy.stat().st_mtime > _MAX_AGE_SECONDS:
            shutil.rmtree(copy, ignore_errors=True)


def wait_for_worker(acquire: Callable[..., tuple[Any, str]]) -> Callable[..., tuple[Any, str]]:
    """The emulator's way to get a worker, but waiting where it would refuse because all of them are busy."""

    def acquire_in_time(*args: Any, **named: Any) -> tuple[Any, str]:
        while True:
            worker, how = acquire(*args, **{**named, "max_concurrency": _MAX_WORKERS})
            if worker is not None:
                return worker, how
            time.sleep(0.01)

    return acquire_in_time


def read_limit(limit: Callable[..., int]) -> Callable[..., int]:
    """The emulator's limit of concurrent batches, which it fails to compare where a parameter gave it as text."""

    def read(source: dict[str, Any], *args: Any) -> int:
        scaling = source.get("ScalingConfig") or {}
        numbers = {name: int(value) for name, value in scaling.items()}
        return limit({**source, "ScalingConfig": numbers}, *args)

    return read


def main() -> None:
    """Run the emulator until told to stop; the one argument is the folder that extracted layers are kept in."""
    LayerZip.cache_folder = Path(sys.argv.pop())
    LayerZip.cache_folder.mkdir(parents=True, exist_ok=True)
    remove_old_layers(LayerZip.cache_folder, time.time())
    workers = importlib.import_module("ministack.core.lambda_runtime")
    # The emulator catches `zipfile.LargeFileError`, which does not exist: the lookup would hide the actual error.
    names = {**vars(zipfile), "ZipFile": LayerZip, "LargeFileError": zipfile.LargeZipFile}
    vars(workers)["zipfile"] = SimpleNamespace(**names)
    functions = importlib.import_module("ministack.services.lambda_svc")
    vars(functions)["acquire_worker"] = wait_for_worker(vars(functions)["acquire_worker"])
    vars(functions)["_sqs_esm_concurrency"] = read_limit(vars(functions)["_sqs_esm_concurrency"])
    importlib.import_module("ministack.app").main()


if __name__ == "__main__":
    main()
