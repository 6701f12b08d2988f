"""Layers are unpacked once and linked to; a function's own code is unpacked as always."""

import os
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local.ministack_launcher import LayerZip, read_limit, remove_old_layers, wait_for_worker

NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setattr(LayerZip, "cache_folder", shelf, raising=False)
    return shelf


def unpack(folder: Path, name: str, content: str) -> Path:
    """As the emulator does it for one worker: a zip beside an empty folder, then extractall."""
    folder.mkdir()
    file, target = folder / f"{name}.zip", folder / name
    with zipfile.ZipFile(file, "w") as written:
        written.writestr(zipfile.ZipInfo("python/room.py"), content)
    target.mkdir()
    with LayerZip(str(file)) as layer:
        layer.extractall(str(target))
    return target


def test_two_workers_read_one_copy_of_a_layer(tmp_path: Path, shelf: Path) -> None:
    one = unpack(tmp_path / "one", "layer_0", "x = 1")
    other = unpack(tmp_path / "other", "layer_0", "x = 1")
    assert (one / "python" / "room.py").read_text() == "x = 1"
    assert one.resolve() == other.resolve()
    assert len(list(shelf.iterdir())) == 1


def test_workers_that_start_together_unpack_a_layer_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked, make_folder = list[str](), tempfile.mkdtemp

    def count(**named: str) -> str:
        unpacked.append(make_folder(**named))
        return unpacked[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", count)
    with ThreadPoolExecutor(16) as workers:
        layers = list(workers.map(lambda n: unpack(tmp_path / f"worker{n}", "layer_0", "x = 1" * 100_000), range(16)))

    assert len(unpacked) == 1
    assert len({layer.resolve() for layer in layers}) == 1


def test_a_changed_layer_is_another_copy(tmp_path: Path, shelf: Path) -> None:
    unpack(tmp_path / "one", "layer_0", "x = 1")
    changed = unpack(tmp_path / "other", "layer_0", "x = 2")
    assert (changed / "python" / "room.py").read_text() == "x = 2"
    assert len(list(shelf.iterdir())) == 2


def test_a_functions_own_code_is_not_shared(tmp_path: Path, shelf: Path) -> None:
    code = unpack(tmp_path / "one", "code", "x = 1")
    assert (code / "python" / "room.py").read_text() == "x = 1"
    assert not code.is_symlink()
    assert list(shelf.iterdir()) == []


def test_layers_that_nobody_used_for_a_day_go_but_the_latest_stay(shelf: Path) -> None:
    for age in range(6):
        (shelf / f"layer{age}").mkdir()
        os.utime(shelf / f"layer{age}", (NOW, NOW - age * 24 * 3600))
    remove_old_layers(shelf, NOW)
    assert sorted(copy.name for copy in shelf.iterdir()) == ["layer0", "layer1", "layer2", "layer3"]


def test_a_call_waits_for_a_worker_where_the_emulator_would_refuse_it() -> None:
    answers = iter([(None, "func_cap"), (None, "func_cap"), ("worker", "reused")])
    asked: list[dict[str, object]] = []

    def acquire(*_: object, **named: object) -> tuple[object, str]:
        asked.append(named)
        return next(answers)

    assert wait_for_worker(acquire)("inbound", {}, b"", qualifier="live") == ("worker", "reused")
    assert asked == [{"qualifier": "live", "max_concurrency": 8}] * 3


def test_a_limit_that_a_parameter_gave_as_text_is_a_number() -> None:
    def limit(source: dict[str, Any], function: str) -> int:
        concurrency: int = source["ScalingConfig"].get("MaximumConcurrency", 10)
        assert (source["UUID"], function) == ("esm", "embedder")
        return min(concurrency, 8)

    read = read_limit(limit)
    assert read({"UUID": "esm", "ScalingConfig": {"MaximumConcurrency": "5"}}, "embedder") == 5
    assert read({"UUID": "esm"}, "embedder") == 8
