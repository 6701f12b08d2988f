"""Messages as lines of an archive."""

import json
from datetime import UTC, datetime
from uuid import UUID

from parlour.erasure.archives import remaining_lines
from parlour.memory.archive.archive_lines import ArchivedMessage, object_key, to_json_lines

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def message(number: int, body: str) -> ArchivedMessage:
    return ArchivedMessage(
        UUID(int=number), number, None, "inbound", "web", "text", body, NOW, NOW, {"sender_name": "Asha"}
    )


def test_each_message_is_a_line_whatever_it_says() -> None:
    bodies = ["one\ntwo", 'a "quoted" word', "नमस्ते", "\u2028 and \x85"]
    data = to_json_lines([message(number, body) for number, body in enumerate(bodies)])
    assert [json.loads(line)["body"] for line in data.decode().split("\n") if line] == bodies


def test_what_forgetting_leaves_of_an_archive_is_the_other_lines_byte_for_byte() -> None:
    one, two = message(1, "one \u2028 more"), message(2, "two")
    assert remaining_lines(to_json_lines([one, two]), {str(two.id)}) == [to_json_lines([one]).rstrip(b"\n")]


def test_an_archive_lies_below_its_tenant() -> None:
    assert object_key(UUID(int=1), UUID(int=2), UUID(int=3)).startswith(f"tenant/{UUID(int=1)}/archive/")
