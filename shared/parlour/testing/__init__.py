"""Tests of packs with pytest: the real engine on an embedded database, and a model that says what the test wrote.

    from parlour import testing

    def test_books_an_appointment():
        answers = [testing.call("book_appointment", name="Priya", start="2026-03-03T10:00:00"), "Booked."]
        with testing.Agent("my-pack", answers=answers) as agent:
            reply = agent.say("Tuesday at ten, please.")
            assert reply.text == "Booked."
            assert reply.tool_calls[0].result["number"] == "A-1"

Install it with `pip install "parlour[testing]"`.
"""

from parlour.testing.agent import Agent, Reply, ToolCall, call

__all__ = ["Agent", "Reply", "ToolCall", "call"]
