"""The promises can be broken: a copy of the assembly with one small fault breaks one, and that names the layer."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import parlour.context

SOURCE = Path(parlour.context.__file__).parent
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Mutation:
    """A fault: what stands in the place of what in a file, and what the broken promise says of it."""

    file: str
    old: str
    new: str
    said: str


MUTATIONS = {
    "a timestamp in the briefing": Mutation(
        "briefing.py", 'return f"{subject} What stands here',
        "return f\"{__import__('time').perf_counter_ns()} {subject} What stands here",
        "layer briefing is another when it is assembled again",
    ),
    "the heartbeat in the system prompt": Mutation(
        "opening.py", "tail.segment(meter, Layer.HEARTBEAT, [materials.heartbeat])",
        'tail.segment(meter, Layer.HEARTBEAT, [materials.heartbeat], "system")', "layer heartbeat",
    ),
    "tools in another order every other turn": Mutation(
        "opening.py", "sorted(map(_defined, materials.tools))",
        "sorted(map(_defined, materials.tools), reverse=materials.turn % 2 == 0)", "layer tools changed",
    ),
    "JSON in the order of its keys": Mutation(
        "opening.py", 'str(tool.get("name")), canonical(tool)', 'str(tool.get("name")), json.dumps(tool)',
        "layer tools changed",
    ),
    "the tail kept in history": Mutation(
        "history.py", "return (*attached, *said(meter, turn.asked, turn.attached), *called, *replied)",
        "kept = words(meter, *tagged('tail', f'Turn: {turn.number}'), role='user')\n"
        "    return (*attached, *said(meter, turn.asked, turn.attached), kept, *called, *replied)",
        "layer heartbeat is kept in history",
    ),
    "a history that tells how many turns it has": Mutation(
        "history.py", "for turn in turns for block in _blocks(meter, turn))",
        "for turn in turns for block in (*_blocks(meter, turn), words(meter, str(len(turns)), role='user')))",
        "layer history changed",
    ),
    "the third mark after the tail": Mutation(
        "marks.py", 'stays = stays and segment.stability != "turn" and segment.layer is not Layer.CALLS',
        "stays = stays and segment.layer is not Layer.CALLS", "layer reminder is marked",
    ),
    "a briefing that is not pinned": Mutation(
        "fill.py", "if not causes and standing.pinned is not None:\n"
        "        filling.entries += briefing.told(standing.pinned)\n        return standing.pinned", "pass",
        "layer briefing changed",
    ),
    "calls that are given more than is left": Mutation(
        "fill.py", "kept = filling.calls + filling.purse.left",
        "kept = 2_000 + filling.calls + filling.purse.left", "in a budget of",
    ),
    "a history that is cut at ten": Mutation(
        "history.py", "MOST_MESSAGES, KEPT_MESSAGES = 20, 10", "MOST_MESSAGES, KEPT_MESSAGES = 10, 10",
        "layer history: cut although there was room",
    ),
    "a cut that waits for no summary": Mutation(
        "history.py", "waits = given.awaited and not is_covered", "waits = False",
        "layer history was cut before its summary was there",
    ),
    "a summary that is told as soon as it is there": Mutation(
        "assemble.py", "plan = Plan(lead=standing.lead)",
        "plan = Plan(lead=replace(standing.lead, summary=materials.summary or standing.lead.summary))",
        "for no named cause",
    ),
    "a recap of what is summarised": Mutation(
        "lead.py", "for number, line in (*old, *anew) if number > covers]", "for number, line in (*old, *anew)]",
        "layer summary tells a turn twice",
    ),
    "a closed summary that is told": Mutation(
        "lead.py", "text=WITHDRAWN if withdrawn and summary.text else summary.text", "text=summary.text",
        "layer summary tells what was closed",
    ),
    "a reader who sees one level more": Mutation(
        "choose.py", "[one for one in items if one.level <= clearance]",
        "[one for one in items if one.level <= clearance + 1]", "tells what nobody may see",
    ),
    "a reminder that is said again before the calls": Mutation(
        "assemble.py", 'return tail.segment(meter, Layer.REMINDER, said, "last")',
        'return tail.segment(meter, Layer.REMINDER, said)', "layer reminder is not last",
    ),
}  # fmt: skip


def check(source: Path) -> subprocess.CompletedProcess[str]:
    """The promises of one session, held by another process that finds the assembly in `source`."""
    environment = {"PYTHONPATH": os.pathsep.join([str(source), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "tests.unit.context.one_session", str(source)]
    return subprocess.run(command, env=environment, cwd=source, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the assembly, with what it imports."""
    package = SOURCE.parent
    (tmp_path / "parlour").mkdir()
    for file in package.glob("*.py"):
        shutil.copy(file, tmp_path / "parlour")
    for room in ("text", "context", "infra"):
        shutil.copytree(package / room, tmp_path / "parlour" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_as_it_is_it_keeps_its_promises(copied: Path) -> None:
    checked = check(copied)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_breaks_a_promise_that_names_its_layer(name: str, copied: Path) -> None:
    mutation = MUTATIONS[name]
    file = copied / "parlour" / "context" / mutation.file
    text = file.read_text()
    assert text.count(mutation.old) >= 1, f"the fault cannot be made: {mutation.file} reads otherwise by now"
    file.write_text(text.replace(mutation.old, mutation.new))
    checked = check(copied)
    assert checked.returncode != 0, "no promise was broken"
    assert mutation.said in checked.stderr.splitlines()[-1], checked.stderr
