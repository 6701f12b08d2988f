"""A Pulse as a conversation about its record begins with it. Pure.

The numbers of its sources are its own and mean others in a conversation: each statement names its sources instead.
"""

from collections.abc import Callable
from datetime import UTC

from parlour.pulse.pulse import Citation, Pulse

MAX_TOKENS = 380
"""Tokens that it may take: what a briefing gives a Pulse, without its heading."""


def render_for_briefing(pulse: Pulse, count_tokens: Callable[[str], int]) -> str:
    """`As of 2026-03-02 09:30 UTC:` and the statements, each with its sources as long as that fits; the first are the
    ones that matter most."""
    head = f"As of {pulse.checked_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC:"
    by_number = {one.number: one for one in pulse.citations}
    full = "\n".join([head, *(f"- {one.text}{_render_sources(one.sources, by_number)}" for one in pulse.statements)])
    if count_tokens(full) <= MAX_TOKENS:
        return full
    short = "\n".join([head, *(f"- {one.text}" for one in pulse.statements)])
    lines = short.split("\n")
    while len(lines) > 2 and count_tokens("\n".join(lines)) > MAX_TOKENS:
        lines.pop()
    return "\n".join(lines)


def _render_sources(numbers: tuple[int, ...], by_number: dict[int, Citation]) -> str:
    places = [", ".join(filter(None, (one.title, one.locator))) for n in numbers if (one := by_number.get(n))]
    return f" ({'; '.join(dict.fromkeys(places))})" if places else ""
