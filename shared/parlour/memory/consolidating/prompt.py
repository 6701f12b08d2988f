"""What a model is told that goes once more through a conversation that is over. Pure."""

from collections.abc import Iterable, Sequence

from parlour.memory.extracting import prompt
from parlour.memory.facts.fact import Known

_ADDED = """

# This time
The conversation is over for now, and this is the last time that anybody reads all of it. Note the facts that were \
missed, and those that the whole makes surer than one line did; leave out what is known already as it stands.
Give exactly one episode: in two to four sentences what the conversation was about, what came of it, what was agreed \
or promised and what was left open, with the figures and names as the user wrote them; under "messages" the lines that \
matter most to it."""

_MOST_NOTES = 20


def instructions(agent: str, floor: float) -> str:
    """The system prompt; the same for every conversation of an agent."""
    return prompt.instructions(agent, floor) + _ADDED


def question(transcript: str, known: Iterable[Known], notes: Sequence[str]) -> str:
    """The user's part: what is known, what was noted on the way, and the conversation."""
    noted = "\n".join(f"- {one}" for one in notes[-_MOST_NOTES:]) or "- nothing"
    return f"# Noted on the way\n{noted}\n\n{prompt.question(transcript, known)}"
