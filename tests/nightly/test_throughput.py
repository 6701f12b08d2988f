"""The benchmark of throughput measures something: its short form, on a stack of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from local.state import ROOT, minimal_environment


def test_turns_a_second_waits_and_statements_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench.throughput", "--quick", "--json", str(file)]
    subprocess.run(command, cwd=ROOT, env=minimal_environment(), check=True, timeout=240, capture_output=True)
    figures = json.loads(file.read_text())
    one, several = figures["throughput"]
    assert one["p50 x one session"] == pytest.approx(1)
    assert several["turns a second"] > 0
    assert {row["function"] for row in figures["turn"]} == {"receiver", "orchestrator", "outbound"}
    assert all(row["statements"] > 0 for row in figures["turn"])
