"""A Pydantic AI agent that answers the turns of an agent. Its model calls are its own; Parlour runs the tools."""

import parlour


def make_agent() -> object:
    """Return the agent; the key of its model is in functions/.env."""
    from pydantic_ai import Agent  # the package is in requirements.txt, not in Parlour

    return Agent("anthropic:claude-haiku-4-5", instructions="Be warm and brief.")


reception = parlour.from_pydantic_ai(make_agent)
