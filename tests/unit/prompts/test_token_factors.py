"""What a model's report says of its tokens: only where it can be told whose tokens they are."""

import pytest

from parlour.prompts.assembly.segment import IMAGE_TOKENS, Block, Layer, Segment, opaque_block, text_block
from parlour.prompts.assembly.token_factors import learn_token_factor
from parlour.text.token_counter import DEFAULT_FACTOR, MESSAGE_OVERHEAD_TOKENS, TokenCounter, count_plain_tokens

ENGLISH = "The crane stands still above thirty-eight kilometres per hour. " * 20
HINDI = "क्रेन तेज़ हवा में नहीं चलती। " * 40


def prompt(*texts: str, image: bool = False) -> list[Segment]:
    blocks = [text_block(TokenCounter(), text, role="user") for text in texts]
    if image:
        blocks.append(opaque_block(TokenCounter(), {"type": "image", "source": {"data": "aGk="}}, "user"))
    return [Segment(Layer.MESSAGE, "append_only", "opening", tuple(blocks))]


@pytest.mark.parametrize(("text", "script"), [(ENGLISH, "latin"), (HINDI, "devanagari")])
def test_what_was_reported_beyond_the_messages_overhead_is_the_texts(text: str, script: str) -> None:
    found = learn_token_factor(prompt(text), count_plain_tokens(text) * 2 + MESSAGE_OVERHEAD_TOKENS, {})
    assert found
    assert found[0] == script
    assert found[1] == pytest.approx(2.0)


def test_a_budget_by_what_was_learned_is_what_was_reported() -> None:
    reported = int(count_plain_tokens(ENGLISH) * 1.1) + MESSAGE_OVERHEAD_TOKENS
    found = learn_token_factor(prompt(ENGLISH), reported, {})
    assert found
    assert abs(text_block(TokenCounter(dict([found])), ENGLISH, role="user").tokens - reported) <= 1


def test_of_a_mixture_nobody_can_tell() -> None:
    assert learn_token_factor(prompt(ENGLISH, HINDI), 3_000, {}) is None


def test_what_little_there_is_of_another_script_counts_by_its_own_factor() -> None:
    few = "नमस्ते"
    rest = count_plain_tokens(few) * 3.0
    known = learn_token_factor(
        prompt(ENGLISH * 3, few),
        round(count_plain_tokens(ENGLISH * 3) + rest) + 2 * MESSAGE_OVERHEAD_TOKENS,
        {"devanagari": 3.0},
    )
    assert known
    assert known[0] == "latin"
    assert known[1] == pytest.approx(1.0, abs=0.01)
    unknown = learn_token_factor(
        prompt(ENGLISH * 3, few), count_plain_tokens(ENGLISH * 3) + 2 * MESSAGE_OVERHEAD_TOKENS, {}
    )
    assert unknown
    assert unknown[1] == pytest.approx(1 - DEFAULT_FACTOR * count_plain_tokens(few) / count_plain_tokens(ENGLISH * 3))


@pytest.mark.parametrize(("times", "teaches"), [(0, False), (0.49, False), (0.51, True), (3.99, True), (4.1, False)])
def test_what_cannot_be_a_count_teaches_nothing(times: float, teaches: bool) -> None:
    assert (
        learn_token_factor(prompt(ENGLISH), int(count_plain_tokens(ENGLISH) * times) + MESSAGE_OVERHEAD_TOKENS, {})
        is not None
    ) is teaches


def test_a_prompt_with_an_image_or_without_words_teaches_nothing() -> None:
    assert learn_token_factor(prompt(ENGLISH, image=True), count_plain_tokens(ENGLISH) + IMAGE_TOKENS, {}) is None
    assert learn_token_factor([Segment(Layer.MESSAGE, "turn", "opening", (Block((), 0),))], 10, {}) is None
