from parlour.infra.json_values import JsonObject
from parlour.models.model import ModelRequest, content_blocks, count_cache_breakpoints

MARK: JsonObject = {"type": "ephemeral"}


def test_cache_marks_are_counted_wherever_they_are() -> None:
    request = ModelRequest(
        model="m",
        max_tokens=10,
        tools=({"name": "a", "cache_control": MARK}, {"name": "b"}),
        system=({"type": "text", "text": "x", "cache_control": MARK},),
        messages=(
            {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": MARK}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [{"type": "text", "text": "x", "cache_control": MARK}],
                    }
                ],
            },
            {"role": "user", "content": "plain"},
        ),
    )

    assert count_cache_breakpoints(request) == 4


def test_a_plain_string_is_one_text_block() -> None:
    assert content_blocks({"role": "user", "content": "hello"}) == [{"type": "text", "text": "hello"}]
    assert content_blocks({"role": "user", "content": [{"type": "text", "text": "a"}, "not a block"]}) == [
        {"type": "text", "text": "a"}
    ]
    assert content_blocks({"role": "user"}) == []
