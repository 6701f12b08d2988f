"""Which lines of an archive stay."""

import json

from parlour.erasure.archives import remaining_lines


def test_lines_of_messages_that_go_are_left_out_and_so_is_what_cannot_be_read() -> None:
    lines = [json.dumps({"id": one, "body": "said"}).encode() for one in ("a", "b", "c")]
    assert remaining_lines(b"\n".join([*lines, b"{broken", b"[]"]), {"b"}) == [lines[0], lines[2]]
