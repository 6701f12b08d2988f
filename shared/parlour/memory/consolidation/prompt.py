"""The prompts of consolidation. Pure."""

from collections.abc import Iterable, Sequence

from parlour.memory.extraction import prompt
from parlour.memory.facts.fact import KnownFact

_CONSOLIDATION_RULES = """

# This time
The conversation is over for now, and this is the last time that anybody reads all of it. Note the facts that were \
missed, and those that the whole makes surer than one line did; leave out what is known already as it stands.
Give exactly one episode: in two to four sentences what the conversation was about, what came of it, what was agreed \
or promised and what was left open, with the figures and names as the user wrote them; under "messages" the lines that \
matter most to it."""

_MAX_EPISODES = 20


def system_prompt(agent_name: str) -> str:
    """Return the system prompt, which is the same for all conversations of an agent."""
    return prompt.system_prompt(agent_name) + _CONSOLIDATION_RULES


def user_prompt(transcript: str, known_facts: Iterable[KnownFact], episode_texts: Sequence[str]) -> str:
    """Return the user prompt: interim episodes, known facts and the conversation."""
    noted = "\n".join(f"- {one}" for one in episode_texts[-_MAX_EPISODES:]) or "- nothing"
    return f"# Noted on the way\n{noted}\n\n{prompt.user_prompt(transcript, known_facts)}"
