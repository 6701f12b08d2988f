"""Layer 3: what stands for the turns that history tells no more. Pure.

A summary where a model wrote one, with the lines that it lost and that must survive word for word; a recap, line by
line, of what no summary covers; and a long text that the talk is about. All of it is fixed at a cut and stays, byte for
byte, until the next one.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from parlour.context import recap
from parlour.context.ledger import Entry, Reason
from parlour.context.past import WITHDRAWN, PastTurn
from parlour.context.segment import Block, Item, Lot, Source, foreign, joined, tagged, words
from parlour.context.stored_text import StoredText
from parlour.context.tokens import Meter
from parlour.text.similarity import containment
from parlour.text.words import key_terms

SUMMARY_TOKENS = 1_000
"""The longest summary; with what stands beside it the 1,500 of a long conversation (design section 7, layer 3)."""

BESIDE_TOKENS = 500
"""What the recap and the lines that are kept word for word take together at most: all that there is without a summary
(design section 7, layer 3)."""

KEPT_TOKENS = 250
"""Of those the most that is kept word for word; what has no room is found again by a search."""

LEAD_TOKENS = SUMMARY_TOKENS + BESIDE_TOKENS

_BESIDE_SUMMARY = "Said there, word for word (the summary is newer where it says otherwise):\n"
_ALONE = "Said earlier in this conversation, word for word:\n"
"""Such a line is of the day on which it was said; what was taken back since is in the summary, where there is one."""

PASTED_TOKENS = 400
"""A message from this length on may be a pasted document."""

_ABOUT = 0.25
"""The share of the newest messages' telling words that a pasted text must hold for the talk to be about it."""

_TELLING_FROM = 6
"""Letters from which on a word tells what is talked about; the words that every talk has are shorter, figures aside."""

_YOU, _USER, _SENT, _A_FILE = "- you: ", "- user: ", "- user sent ", "a file"


@dataclass(frozen=True, slots=True)
class Kept:
    """A line that is told word for word once its turn is not; `ours` where the agent said it. `source` names the
    message."""

    text: StoredText
    turn: int
    source: Source
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """What was said up to turn number `until`, in a few sentences; without text where no model was there to write it.

    kept  what must survive in its own words and is not in the text, what matters most first.
    """

    version: int
    until: int
    text: StoredText
    kept: tuple[Kept, ...] = ()

    @property
    def covers(self) -> int:
        """The number of the last turn that needs no recap; below all of them where there is no text."""
        return self.until if self.text else -1


@dataclass(frozen=True, slots=True)
class StandIn:
    """What may lead a history that is cut.

    summary  the newest.
    awaited  a newer one is under way: a cut may wait for it.
    most     tokens that a lead may take, a pasted text aside.
    """

    summary: Summary | None = None
    awaited: bool = False
    most: int = LEAD_TOKENS


@dataclass(frozen=True, slots=True)
class Lead:
    """What stands before the history since its last cut.

    since     the number of the first turn that is still verbatim.
    turns     of which turn each line of the recap tells, by number.
    forgone   messages that the recap has no room for.
    summary   the summary as it is told, with those of its lines that are.
    """

    since: int = 0
    recap: tuple[StoredText, ...] = ()
    turns: tuple[int, ...] = ()
    forgone: int = 0
    pasted: Item | None = None
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class Led:
    """A new lead, and what of its candidates it has no room for."""

    lead: Lead
    out: tuple[Entry, ...] = ()


def after_cut(
    meter: Meter, lead: Lead, since: int, cut: Sequence[PastTurn], talk: Sequence[str], given: StandIn
) -> Led:  # fmt: skip
    """The lead once these turns are `cut` and the one with number `since` is the first that is told; `talk` is what was
    said from there on."""
    summary = _summary(meter, lead.summary, given)
    told = _lines(lead, cut, summary.covers if summary else -1)
    kept, out = _kept(meter, summary, since, [line for _, line in told]) if summary else ((), ())
    left = BESIDE_TOKENS - _size(meter, [one.text for one in kept])
    lines = list(told)
    while lines and _size(meter, [line for _, line in lines]) > left:
        lines.pop(0)
    lost = len(told) - len(lines) + (0 if _covers_before(lead, summary) else lead.forgone)
    pasted = _pasted(meter, cut, talk) or _still(lead.pasted, talk)
    new = Lead(
        since, tuple(line for _, line in lines), tuple(number for number, _ in lines), lost, pasted,
        replace(summary, kept=kept) if summary else None,
    )  # fmt: skip
    return Led(new, out)


def without(lead: Lead, closed: Collection[int], *, summary: bool = False) -> Lead:
    """The lead without what was replied in the closed turns, and without the names of what was sent with them; with
    `summary`, also without a summary that rests on what was closed."""
    pairs = zip(lead.recap, lead.turns, strict=True)
    lines = tuple(_without(line) if of in closed else line for line, of in pairs)
    told = lead.summary and _open(lead.summary, closed, withdrawn=summary)
    return replace(lead, recap=lines, summary=told)


def open_lines(summary: Summary, closed: Collection[int]) -> Summary:
    """The summary without the lines that were replied in the closed turns."""
    return _open(summary, closed, withdrawn=False)


def is_withdrawn(lead: Lead) -> bool:
    """Whether a summary that stood here is not told any more: another one is wanted."""
    return lead.summary is not None and lead.summary.text == WITHDRAWN


def renewed(meter: Meter, lead: Lead, given: StandIn) -> Lead:
    """The lead with the newest summary in the place of one that is not told any more."""
    summary = _summary(meter, lead.summary, given)
    if summary is None or summary.text == WITHDRAWN:
        return lead
    kept, _ = _kept(meter, summary, lead.since, lead.recap)
    return replace(lead, summary=replace(summary, kept=kept))


def bare(lead: Lead) -> Lead:
    """The lead without its summary, for which there is no room; what no recap tells is found by a search alone."""
    return replace(lead, summary=lead.summary and replace(lead.summary, text="", kept=()))


def items(lead: Lead) -> list[Item]:
    """What the lead tells, piece by piece."""
    summary = lead.summary
    text = [_item(summary)] if summary and summary.text else []
    kept = [_line(one, place) for place, one in enumerate(_in_order(summary))]
    lines = [Item(Lot.SUMMARY, line, Source("sessions", "recap", number)) for number, line in enumerate(lead.recap)]
    return [*text, *kept, *lines, *([lead.pasted] if lead.pasted else [])]


def summarised(lead: Lead) -> Item | None:
    """The summary as a candidate; None where there is none."""
    return _item(lead.summary) if lead.summary and lead.summary.text else None


def block(meter: Meter, lead: Lead) -> tuple[Block, ...]:
    """The lead as it is sent; nothing for one that tells nothing."""
    parts: list[list[str]] = []
    summary = lead.summary
    if summary and summary.text:
        parts.append(["Earlier in this conversation, summarised:\n", summary.text])
    if kept := _in_order(summary):
        heading = _BESIDE_SUMMARY if summary and summary.text not in {"", WITHDRAWN} else _ALONE
        parts.append([heading, *joined([one.text for one in kept], "\n")])
    if lead.recap:
        more = f"(and {lead.forgone} messages before that)\n" if lead.forgone else ""
        when = "After that" if summary and summary.text else "Earlier in this conversation"
        parts.append([f"{when}, shortened:\n{more}", *joined(lead.recap, "\n")])
    if lead.pasted:
        parts.append(["The user gave this text, whole:\n", foreign(lead.pasted.text)])
    pieces = [piece for part in parts for piece in ("\n\n", *part)][1:]
    return (words(meter, *tagged("earlier", *pieces), role="user"),) if pieces else ()


def size(meter: Meter, lead: Lead) -> int:
    """The tokens of layer 3."""
    return sum(one.tokens for one in block(meter, lead))


def _summary(meter: Meter, pinned: Summary | None, given: StandIn) -> Summary | None:
    """The one to be told: the newest, or the one that is told where that is newer still; as much of it as may be."""
    newest = given.summary
    if newest is None or (pinned and pinned.until > newest.until and pinned.text not in {"", WITHDRAWN}):
        newest = replace(pinned, kept=newest.kept if newest else pinned.kept) if pinned else None
    if newest is None:
        return None
    room = min(SUMMARY_TOKENS, given.most - BESIDE_TOKENS)
    text = foreign(newest.text.strip())
    return replace(newest, text=_fitted(meter, text, room))


def _fitted(meter: Meter, text: str, room: int) -> str:
    """The text in `room` tokens; nothing of it where there is none."""
    if room <= 0:
        return ""
    return text if meter.count(text) <= room else meter.shortened(text, room - meter.count(" ...")).rstrip() + " ..."


def _lines(lead: Lead, cut: Sequence[PastTurn], covers: int) -> list[tuple[int, str]]:
    """The recap of what no summary covers, old lines and new ones, with the numbers of their turns."""
    old = zip(lead.turns, lead.recap, strict=True)
    anew = ((turn.number, foreign(line)) for turn in cut for line in _recapped(turn))
    return [(number, line) for number, line in (*old, *anew) if number > covers]


def _covers_before(lead: Lead, summary: Summary | None) -> bool:
    """Whether the summary tells of what an earlier recap had no room for."""
    first = min([*lead.turns, lead.since])
    return summary is not None and summary.covers >= first - 1


def _kept(
    meter: Meter, summary: Summary, since: int, told: Sequence[str]
) -> tuple[tuple[Kept, ...], tuple[Entry, ...]]:  # fmt: skip
    """The lines that are kept word for word, of turns that are told no more; and those that are not, and why."""
    chosen: list[Kept] = []
    out: list[tuple[Kept, Reason]] = []
    left = KEPT_TOKENS
    for given in summary.kept:
        one = replace(given, text=foreign(given.text))
        tokens = _size(meter, [one.text])
        said = one.text.removeprefix(_YOU).removeprefix(_USER)
        if one.turn >= since:
            continue
        if any(said in line for line in (*told, *(other.text for other in chosen))):
            out.append((one, "duplicate"))
        elif tokens > left:
            out.append((one, "over_budget"))
        else:
            chosen.append(one)
            left -= tokens
    first = len(chosen)
    entries = [
        Entry(_line(one, first + place), meter.count(one.text), reason) for place, (one, reason) in enumerate(out)
    ]
    return tuple(chosen), tuple(entries)


def _in_order(summary: Summary | None) -> list[Kept]:
    return sorted(summary.kept, key=lambda one: one.turn) if summary else []


def _item(summary: Summary) -> Item:
    return Item(Lot.SUMMARY, summary.text, Source("summaries", str(summary.version)), title="summary")


def _line(kept: Kept, place: int) -> Item:
    return Item(Lot.SUMMARY, kept.text, replace(kept.source, version=place), title="kept word for word")


def _open(summary: Summary, closed: Collection[int], *, withdrawn: bool) -> Summary:
    kept = tuple(one for one in summary.kept if not (one.ours and one.turn in closed))
    return replace(summary, kept=kept, text=WITHDRAWN if withdrawn and summary.text else summary.text)


def _without(line: str) -> str:
    if line.startswith(_SENT):
        return _SENT + _A_FILE
    return _YOU + WITHDRAWN if line.startswith(_YOU) else line


def _size(meter: Meter, lines: Sequence[str]) -> int:
    """The tokens of lines, each with what stands before it."""
    return sum(meter.count(line) for line in joined([*lines], "\n"))


def _recapped(turn: PastTurn) -> list[str]:
    sent = [f"{_SENT}{' '.join(one.title.split()) or _A_FILE}" for one in turn.attached]
    asked = [f"{_USER}{recap.line(one.text)}" for one in turn.asked if one.text.strip()]
    return [*sent, *asked, *(f"{_YOU}{recap.line(one.text)}" for one in turn.replied if one.text.strip())]


def _pasted(meter: Meter, cut: Sequence[PastTurn], talk: Sequence[str]) -> Item | None:
    """The newest long text among what is cut that the talk is about."""
    for turn in reversed(cut):
        for message in reversed(turn.asked):
            if meter.count(message.text) >= PASTED_TOKENS and _is_about(talk, message.text):
                return Item(Lot.PASTED, message.text, message.source, title="a text that the talk is about")
    return None


def _still(pasted: Item | None, talk: Sequence[str]) -> Item | None:
    return pasted if pasted and _is_about(talk, pasted.text) else None


def _is_about(talk: Sequence[str], text: str) -> bool:
    """Whether what was said since has enough of the text's own words. A talk that said nothing telling is still about
    it."""
    spoken = key_terms("\n".join(talk), _TELLING_FROM)
    return not spoken or containment(spoken, key_terms(text, _TELLING_FROM)) >= _ABOUT
