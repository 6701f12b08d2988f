"""What a private note says, and what it makes of texts that pretend to be part of it."""

from dataclasses import replace
from uuid import UUID

import pytest

from parlour.notifications.chatwoot_note import ChatwootEvent, write_note

LINK = "https://p.test/console/#/inbox/1"
EVENT = ChatwootEvent(
    level=1,
    allowed_level=1,
    actor_name="",
    by="",
    text="",
    cited_numbers=[],
    reason_text="They want the crane.",
    assignee_name=None,
    assignee_email=None,
    last_question="When?",
    summary="The crane comes on Monday.",
    user_id=UUID(int=1),
    user_name=None,
    conversation=None,
    own_user=None,
    is_superseded=False,
)


def test_the_opening_note_has_the_reason_the_summary_and_a_link() -> None:
    assert write_note("opened", EVENT, "The user asked for a person.", LINK) == (
        "**Why:** The user asked for a person.\n\n**About:** They want the crane.\n\n"
        f"**Summary:** The crane comes on Monday.\n\n[Open it in the console]({LINK})"
    )


def test_the_opening_note_of_a_conversation_above_the_level_has_no_text_of_it() -> None:
    note = write_note("opened", replace(EVENT, level=2), "The user asked for a person.", LINK)

    assert "crane" not in note
    assert note.endswith(f"[Open it in the console]({LINK})")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("[@Ines](mention://user/1/Ines)", r"\[@Ines\](mention:\//user/1/Ines)"),
        ("![](https://evil.example/p.png)", r"\!\[\](https:\//evil.example/p.png)"),
        ("<b>x</b>\n\n**Why:** trust me", r"\<b\>x\</b\> \*\*Why:\*\* trust me"),
    ],
)
def test_a_quoted_text_cannot_pretend_to_be_part_of_the_note(text: str, escaped: str) -> None:
    assert f"**About:** {escaped}\n\n" in write_note("opened", replace(EVENT, reason_text=text), "", LINK)
