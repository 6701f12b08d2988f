"""What a model's report of a prompt's tokens says about its tokens per plain token, in the prompt's script. Pure."""

from collections.abc import Mapping, Sequence

from parlour.prompts.assembly.segment import Segment
from parlour.text.token_counter import DEFAULT_FACTOR, MESSAGE_OVERHEAD_TOKENS, count_plain_tokens, script_of

_MIN_SCRIPT_SHARE = 0.9
"""The share of a prompt's plain tokens that one script must have: a mixture does not tell whose tokens they are."""

_MIN_FACTOR, _MAX_FACTOR = 0.5, 4.0
"""What lies outside is no count of tokens: a gateway that reports none, say."""


def learn_token_factor(
    segments: Sequence[Segment], reported_tokens: int, factors: Mapping[str, float]
) -> tuple[str, float] | None:
    """Return the prompt's script and its tokens per plain token, by the reported input tokens.

    None when that says nothing. Text in other scripts counts by the `factors` known of them.
    """
    blocks = [block for segment in segments for block in segment.blocks]
    if any((block.is_json and block.to_json().get("type") == "image") for block in blocks):
        return None
    counted: dict[str, int] = {}
    for piece in (piece for block in blocks for piece in block.pieces):
        counted[script_of(piece)] = counted.get(script_of(piece), 0) + count_plain_tokens(piece)
    main = max(counted, key=lambda name: counted[name], default="")
    if not main or counted[main] < _MIN_SCRIPT_SHARE * sum(counted.values()):
        return None
    rest = sum(tokens * factors.get(name, DEFAULT_FACTOR) for name, tokens in counted.items() if name != main)
    overhead = MESSAGE_OVERHEAD_TOKENS * sum(1 for block in blocks if block.role)
    factor = (reported_tokens - overhead - rest) / counted[main]
    return (main, factor) if _MIN_FACTOR <= factor <= _MAX_FACTOR else None
