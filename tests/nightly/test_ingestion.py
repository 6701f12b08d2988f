"""The benchmark of ingestion measures something: its short form, on a stack of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from local.state import ROOT, minimal_environment


def test_pages_a_second_memory_and_turns_meanwhile_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench.ingestion", "--quick", "--json", str(file)]
    subprocess.run(command, cwd=ROOT, env=minimal_environment(), check=True, timeout=400, capture_output=True)
    figures = json.loads(file.read_text())
    kinds = {row["kind"]: row for row in figures["kinds"]}
    assert set(kinds) == {"pdf", "docx", "xlsx", "pptx", "html", "md", "txt", "eml", "csv"}
    assert all(row["rows"] > 0 and row["child MB"] > 10 and row["worker MB"] > 10 for row in kinds.values())
    assert figures["at_once"]["pages a second"] > 0
    assert figures["ready"]["rows a second"] > 0
    baseline, *meanwhile = figures["turns"]
    assert baseline["p50 x baseline"] == pytest.approx(1)
    assert [row["meanwhile"] for row in meanwhile] == ["two workers read PDFs", "vectors are made"]
