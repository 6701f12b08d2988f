"""Which options become buttons, and the numbered list in their place."""

import pytest

from parlour.channels.buttons import Button, add_numbered_options, are_valid_buttons

YES, NO, LATER = Button("a:yes", "Yes"), Button("a:no", "No"), Button("a:later", "Ask me tomorrow 12345")


@pytest.mark.parametrize(
    ("options", "are_valid"),
    [
        ([YES, NO], True),
        ([YES, NO, Button("c", "x" * 20)], True),
        ([Button("i" * 256, "Yes")], True),
        ([], False),
        ([YES, NO, Button("c", "Maybe"), Button("d", "Never")], False),
        ([YES, LATER], False),
        ([Button("c", "\N{THUMBS UP SIGN}" * 11)], False),
        ([YES, Button("other", "Yes")], False),
        ([YES, Button("a:yes", "No")], False),
        ([Button("i" * 257, "Yes")], False),
        ([Button("", "Yes")], False),
        ([Button("c", "")], False),
    ],
)
def test_only_options_that_whatsapp_takes_become_buttons(options: list[Button], are_valid: bool) -> None:
    assert are_valid_buttons(options) is are_valid


def test_other_options_are_a_numbered_list() -> None:
    assert add_numbered_options("Send it?", [YES, LATER]) == "Send it?\n\n1. Yes\n2. Ask me tomorrow 12345"
    assert add_numbered_options("Send it?", []) == "Send it?"
