"""Summaries of a random session, as its writer would have them ready: in time, early, late, never, or without words."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from parlour.prompts.assembly import compaction
from parlour.prompts.assembly.compaction import CompactedHistory, CompactionInput, KeyDetailLine, Summary
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.prompts.assembly.segment import Source
from parlour.text.token_counter import TokenCounter
from tests.unit.prompts import generated_texts

SUMMARY_TIMINGS = ("prompt", "early", "late", "never", "lost", "wordless")
"""How summaries come: before the cut that wants them, with every turn, some turns later, not at all, announced and
never written, and with nothing but lines that are kept word for word."""

_WANTED_FROM = 16
_LEFT = 6
"""Past so many messages a summary is wanted, of all but the newest few."""


@dataclass
class SimulatedSummariser:
    """What is known of a session's summaries.

    newest, awaited  as the next turn loads them.
    coming           the one that is under way, and the turn after which it is there.
    """

    way: str
    newest: Summary | None = None
    awaited: bool = False
    coming: tuple[int, Summary] | None = None
    versions: list[Summary] = field(default_factory=list)

    def after_turn(self, past: Sequence[PastTurn], number: int, draw: random.Random) -> None:
        """The turn is over: what was under way may be there, and what is wanted is begun."""
        if self.coming and self.coming[0] <= number:
            self._come(self.coming[1])
        if self.way == "never" or not self._wants(past):
            return
        if self.way == "lost":
            self.awaited = True
        elif self.coming is None:
            made = self._made(past, draw)
            late = draw.randrange(2, 9) if self.way == "late" else 0
            self.coming = (number + late, made)
            self.awaited = late > 0
            if not late:
                self._come(made)

    def close(self, closed: frozenset[int], standing: CompactedHistory) -> CompactedHistory:
        """Turns were closed: what rests on them is told no more; the newest version that does not is all there is."""
        reached = bool(standing.summary and any(one <= standing.summary.until_turn for one in closed))
        self.coming, self.awaited = None, False
        self.versions = [one for one in self.versions if not any(turn <= one.until_turn for turn in closed)]
        self.newest = self.versions[-1] if self.versions else None
        led = compaction.withhold_turns(standing, closed, is_summary_restricted=reached)
        return (
            compaction.with_newest_summary(TokenCounter(), led, CompactionInput(self.newest))
            if self.newest and compaction.is_summary_withheld(led)
            else led
        )

    def _wants(self, past: Sequence[PastTurn]) -> bool:
        messages = sum(one.message_count for one in past)
        return messages > (0 if self.way == "early" else _WANTED_FROM)

    def _made(self, past: Sequence[PastTurn], draw: random.Random) -> Summary:
        left, covered = 0, list(past)
        while covered and left + covered[-1].message_count <= _LEFT:
            left += covered.pop().message_count
        until = covered[-1].number if covered else (self.newest.until_turn if self.newest else 0)
        replies = " ".join(one.text.split()[0] for turn in covered for one in turn.replies if one.text)
        words = draw.choice((20, 150, 900))
        text = "" if self.way == "wordless" else f"{replies} {generated_texts.prose(draw, words)}"[:4_000]
        kept = [self._kept(turn, place, draw) for turn in covered for place in range(draw.randrange(3))]
        before = self.newest.key_details if self.newest else ()
        return Summary((self.newest.version if self.newest else 0) + 1, until, text, (*reversed(kept), *before)[:60])

    def _kept(self, turn: PastTurn, place: int, draw: random.Random) -> KeyDetailLine:
        ours = place == 1 and bool(turn.replies)
        said = (turn.replies if ours else turn.user_messages)[:1]
        who = "you" if ours else "user"
        words = f"{said[0].text.split()[0]} " if ours and said[0].text else ""
        source = said[0].source if said else Source("messages", f"gone-{turn.number}")
        return KeyDetailLine(
            f"- {who}: {words}{generated_texts.prose(draw, draw.choice((4, 12, 30)))}", turn.number, source, ours
        )

    def _come(self, summary: Summary) -> None:
        self.newest, self.coming, self.awaited = summary, None, False
        self.versions.append(replace(summary))
