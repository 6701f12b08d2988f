"""A Pydantic AI agent that answers the turns of an agent. Its model calls are its own; Parlour runs the tools."""

import os

import parlour


def make_agent() -> object:
    """Return the agent; the key of its model is in functions/.env. Without one, `test` calls every tool once."""
    from pydantic_ai import Agent  # the package is in requirements.txt, not in Parlour

    model = "anthropic:claude-haiku-4-5" if os.environ.get("ANTHROPIC_API_KEY") else "test"
    return Agent(model, instructions="Be warm and brief.")


reception = parlour.from_pydantic_ai(make_agent)
