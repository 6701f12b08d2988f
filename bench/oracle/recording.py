"""What is kept of the prompts of all conversations, and how those of other code differ from it."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from bench.oracle.player import Played, Prompt

RECORDED = Path(__file__).parent / "recorded.json"
ACCEPTED = Path(__file__).parent / "accepted.json"

_MISSING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Difference:
    """One prompt, turn or job that is not as it was recorded.

    place  where in the conversation: "a3.1" is the first prompt of turn 3 of its first session, "job 2" its second job.
    part   the layer that differs; "marks", "tokens", "turns", "prompts" or the kind of a job.
    now    what is there now.
    """

    conversation: str
    place: str
    part: str
    now: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """Differences that somebody has looked at.

    parts    as `Difference.part`.
    digests  by conversation, of exactly these differences: with others of the same parts they do not hold any more.
    """

    reason: str
    parts: Sequence[str]
    digests: Mapping[str, str]

    def covered(self, conversation: str, differences: Sequence[Difference]) -> list[Difference]:
        """Those of a conversation's differences that are accepted."""
        found = [difference for difference in differences if difference.part in self.parts]
        return found if found and self.digests.get(conversation) == digest(found) else []


def to_json(played: Mapping[str, Played], code: str) -> dict[str, Any]:
    """What is recorded of the conversations: `code` is the commit of the product that they were played with.

    {"code", "conversations": {name: {"turns": [{"place", "state", "prompts": [prompt]}], "jobs": ["kind:hash"]}}}; a
    prompt is {"text": hash, "tokens", "marks": [block], "layers": {number: hash}}.
    """
    return {"code": code, "conversations": {name: _conversation(found) for name, found in sorted(played.items())}}


def read(path: Path = RECORDED) -> dict[str, Any]:
    """The recording."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def read_accepted(path: Path = ACCEPTED) -> list[Accepted]:
    """The differences that are accepted."""
    return [Accepted(**entry) for entry in json.loads(path.read_text("utf-8"))]


def write_accepted(accepted: Sequence[Accepted], path: Path = ACCEPTED) -> None:
    """Write the entries."""
    path.write_text(json.dumps([asdict(entry) for entry in accepted], indent=1) + "\n", "utf-8")


def write(recorded: Mapping[str, Any], path: Path = RECORDED) -> None:
    """Write a recording, a turn a line."""
    conversations = [
        f'{json.dumps(name)}: {{\n "jobs": {_line(found["jobs"])},\n "turns": [\n'
        + ",\n".join(f"  {_line(turn)}" for turn in found["turns"])
        + "\n ]}"
        for name, found in recorded["conversations"].items()
    ]
    body = ",\n".join(conversations)
    path.write_text(f'{{"code": {json.dumps(recorded["code"])}, "conversations": {{\n{body}\n}}}}\n', "utf-8")


def compare(before: Mapping[str, Any], now: Mapping[str, Any], layers: Sequence[str]) -> list[Difference]:
    """How the conversations that were played `now` differ from the same ones before; `layers` are their names."""
    found: list[Difference] = []
    for name, conversation in now["conversations"].items():
        recorded = before["conversations"].get(name, {"turns": [], "jobs": []})
        found += _turns(name, recorded["turns"], conversation["turns"], layers)
        found += _jobs(name, recorded["jobs"], conversation["jobs"])
    return found


def open_differences(differences: Sequence[Difference], accepted: Sequence[Accepted]) -> list[Difference]:
    """Those that nobody has accepted."""
    found: list[Difference] = []
    for name, own in _by_conversation(differences).items():
        covered = [difference for entry in accepted for difference in entry.covered(name, own)]
        found += [difference for difference in own if difference not in covered]
    return found


def accept(
    differences: Sequence[Difference],
    accepted: Sequence[Accepted],
    played: Collection[str],
    reason: str,
    parts: Sequence[str],
) -> list[Accepted]:
    """Add an entry for the open differences of these parts, or of all parts.

    Drops what the played conversations no longer differ in; entries of other conversations stay.
    """
    by_name = _by_conversation(differences)
    left = open_differences(differences, accepted)
    wanted = [difference for difference in left if not parts or difference.part in parts]
    new = Accepted(
        reason,
        sorted({difference.part for difference in wanted}),
        {name: digest(own) for name, own in _by_conversation(wanted).items()},
    )
    current = [replace(entry, digests=_current_digests(entry, by_name, played)) for entry in accepted]
    return [entry for entry in (*current, new) if entry.digests]


def digest(differences: Sequence[Difference]) -> str:
    """What tells these differences from others."""
    lines = sorted(f"{found.conversation} {found.place} {found.part} {found.now}" for found in differences)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _current_digests(
    entry: Accepted, by_name: Mapping[str, list[Difference]], played: Collection[str]
) -> dict[str, str]:
    """Return the entry's digests that match what differs now, or whose conversation was not played."""
    return {
        name: found
        for name, found in entry.digests.items()
        if name not in played or entry.covered(name, by_name.get(name, []))
    }


def _by_conversation(differences: Sequence[Difference]) -> dict[str, list[Difference]]:
    found: dict[str, list[Difference]] = {}
    for difference in differences:
        found.setdefault(difference.conversation, []).append(difference)
    return found


def grouped(differences: Sequence[Difference]) -> Iterator[tuple[str, str, list[str]]]:
    """(parts, conversation, places) of the differences: first those places in which the same parts differ."""
    by_place: dict[tuple[str, str], list[str]] = {}
    for difference in differences:
        by_place.setdefault((difference.conversation, difference.place), []).append(difference.part)
    rows = sorted((", ".join(parts), name, place) for (name, place), parts in by_place.items())
    for (parts, name), group in groupby(rows, key=lambda row: row[:2]):
        yield parts, name, [place for *_, place in group]


def _conversation(played: Played) -> dict[str, Any]:
    turns = [
        {"place": turn.place, "state": turn.state, "prompts": [_prompt(prompt) for prompt in turn.prompts]}
        for turn in played.turns
    ]
    return {"turns": turns, "jobs": played.jobs}


def _prompt(prompt: Prompt) -> dict[str, Any]:
    layers = {str(number): found for number, found in prompt.layers.items()}
    return {"text": prompt.text, "tokens": prompt.tokens, "marks": list(prompt.marks), "layers": layers}


def _turns(name: str, before: Sequence[Any], now: Sequence[Any], layers: Sequence[str]) -> Iterator[Difference]:
    for was, turn in zip_longest(before, now, fillvalue=_MISSING):
        place = str(turn.get("place") or was["place"])
        if (was.get("place"), was.get("state")) != (turn.get("place"), turn.get("state")):
            yield Difference(name, place, "turns", f"{turn.get('place')} {turn.get('state')}")
        elif len(was["prompts"]) != len(turn["prompts"]):
            yield Difference(name, place, "prompts", str(len(turn["prompts"])))
        else:
            for number, pair in enumerate(zip(was["prompts"], turn["prompts"], strict=True), start=1):
                yield from _prompts(name, f"{place}.{number}", *pair, layers)


def _prompts(name: str, place: str, was: Any, now: Any, layers: Sequence[str]) -> Iterator[Difference]:
    """The layers that differ. Where none does and the whole text is another one, they stand in another order."""
    numbers = sorted({*was["layers"], *now["layers"]}, key=int)
    other = [number for number in numbers if was["layers"].get(number) != now["layers"].get(number)]
    for number in other:
        yield Difference(name, place, layers[int(number)], now["layers"].get(number, ""))
    if was["text"] != now["text"] and not other:
        yield Difference(name, place, "order", now["text"])
    if was["marks"] != now["marks"]:
        yield Difference(name, place, "marks", str(now["marks"]))
    if was["tokens"] != now["tokens"] and not other:
        yield Difference(name, place, "tokens", str(now["tokens"]))


def _jobs(name: str, before: Sequence[str], now: Sequence[str]) -> Iterator[Difference]:
    for number, (was, job) in enumerate(zip_longest(before, now, fillvalue=""), start=1):
        if was != job:
            yield Difference(name, f"job {number}", (job or was).partition(":")[0], job)


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
