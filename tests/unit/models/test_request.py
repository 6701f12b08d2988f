from parlour.infra.jsonable import JsonObject
from parlour.models.request import ModelRequest, blocks_of, cache_marks

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

    assert cache_marks(request) == 4


def test_a_plain_string_is_one_text_block() -> None:
    assert blocks_of({"role": "user", "content": "hello"}) == [{"type": "text", "text": "hello"}]
    assert blocks_of({"role": "user", "content": [{"type": "text", "text": "a"}, "not a block"]}) == [
        {"type": "text", "text": "a"}
    ]
    assert blocks_of({"role": "user"}) == []
