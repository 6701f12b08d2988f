"""Other conversations are looked into only where the question points there."""

import pytest

from parlour.conversations.conversation_references import refers_to_other_conversation


@pytest.mark.parametrize(
    "question",
    [
        "What did we agree last time?",
        "In an earlier conversation you gave me a figure.",
        "As we discussed, go on.",
        "Do you remember the crane's permit?",
        "Compare it with the offer from May.",
        "You told me it was 0.35 mm.",
        "What was in our previous chat?",
        "I already asked about the pump.",
    ],
)
def test_it_points_back(question: str) -> None:
    assert refers_to_other_conversation(question)


@pytest.mark.parametrize(
    "question", ["How wide is the crack at C4?", "The last delivery was late.", "Who is on site today?", ""]
)
def test_it_does_not(question: str) -> None:
    assert not refers_to_other_conversation(question)
