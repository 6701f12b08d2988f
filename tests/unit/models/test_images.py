"""Pictures get their bytes when a model is asked, and words where they are not to be had."""

import base64
import hashlib
from collections.abc import Mapping

import pytest

from parlour.infra.errors import AccessRefused, ObjectsUnavailable, RetryError
from parlour.infra.json_values import Json, JsonObject
from parlour.models import images
from parlour.models.images import MAX_PROMPT_IMAGE_BYTES, ImageResolver
from parlour.models.model import ModelRequest
from parlour.prompts.assembly import history
from parlour.prompts.assembly.attachments import image_reference_block

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


class Shelf:
    """Keeps bytes by key and counts who asks."""

    def __init__(self, kept: Mapping[str, bytes], problem: type[RetryError] | None = None) -> None:
        self.kept, self.asked, self.problem = kept, 0, problem

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        self.asked += 1
        if self.problem:
            raise self.problem
        return self.kept[key][: most_bytes + 1] if key in self.kept else None


def named(key: str, data: bytes = PNG, **more: Json) -> JsonObject:
    return {**image_reference_block(key, hashlib.sha256(data).hexdigest(), "image/png", "crack.png", len(data)), **more}


def asked(*blocks: JsonObject) -> ModelRequest:
    content: list[Json] = [*blocks, {"type": "text", "text": "What is this?"}]
    return ModelRequest("m", 10, (), (), ({"role": "user", "content": content},))


def shown(request: ModelRequest) -> list[JsonObject]:
    content = request.messages[0]["content"]
    assert isinstance(content, list)
    return [block for block in content[:-1] if isinstance(block, dict)]


def test_a_picture_is_sent_as_base64_with_its_mark() -> None:
    given = asked(named("k", cache_control={"type": "ephemeral"}))
    (block,) = shown(ImageResolver(lambda: Shelf({"k": PNG})).resolve_images(given))
    data = base64.b64encode(PNG).decode()
    assert block == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
        "cache_control": {"type": "ephemeral"},
    }


def test_a_picture_that_is_gone_or_another_one_by_now_is_said_in_words() -> None:
    for kept in ({}, {"k": b"something else"}):
        (block,) = shown(ImageResolver(lambda kept=kept: Shelf(kept)).resolve_images(asked(named("k"))))  # type: ignore[misc]
        assert block["type"] == "text"
        assert "cannot be opened" in str(block["text"])


@pytest.mark.parametrize("problem", [AccessRefused, ObjectsUnavailable])
def test_a_store_that_does_not_give_them_keeps_nobody_from_an_answer_and_is_asked_once(
    problem: type[RetryError], capsys: pytest.CaptureFixture[str]
) -> None:
    shelf = Shelf({}, problem)
    given = asked(named("k"), named("l", PNG + b"l"))
    assert [block["type"] for block in shown(ImageResolver(lambda: shelf).resolve_images(given))] == ["text", "text"]
    assert shelf.asked == 1
    assert "ImageUnavailable" in capsys.readouterr().out


def test_a_picture_is_fetched_once_for_all_steps() -> None:
    shelf = Shelf({"k": PNG})
    both = ImageResolver(lambda: shelf)
    assert both.resolve_images(asked(named("k"))) == both.resolve_images(asked(named("k")))
    assert shelf.asked == 1


def test_without_a_picture_nobody_is_asked_for_the_store() -> None:
    def nowhere() -> Shelf:
        raise AssertionError

    given = asked({"type": "text", "text": "hello"})
    assert ImageResolver(nowhere).resolve_images(given) is given


def test_of_more_pictures_than_a_request_may_hold_the_newest_are_shown() -> None:
    large = [bytes([number]) * (MAX_PROMPT_IMAGE_BYTES // 2) for number in range(3)]
    shelf = Shelf({str(number): data for number, data in enumerate(large)})
    blocks = shown(
        ImageResolver(lambda: shelf).resolve_images(asked(*(named(str(n), data) for n, data in enumerate(large))))
    )
    assert [block["type"] for block in blocks] == ["text", "image", "image"]


def test_prompts_are_made_for_what_may_be_shown() -> None:
    assert MAX_PROMPT_IMAGE_BYTES == history.MAX_IMAGE_BYTES


def test_nothing_older_is_shown_than_the_first_that_does_not_fit() -> None:
    """What stands in words would otherwise come and go with the sizes of what is newer."""
    sizes = (
        1,
        MAX_PROMPT_IMAGE_BYTES // 3,
        MAX_PROMPT_IMAGE_BYTES // 3,
        MAX_PROMPT_IMAGE_BYTES // 3,
        MAX_PROMPT_IMAGE_BYTES // 3,
    )
    large = [bytes([number]) * size for number, size in enumerate(sizes)]
    shelf = Shelf({str(number): data for number, data in enumerate(large)})
    blocks = shown(
        ImageResolver(lambda: shelf).resolve_images(asked(*(named(str(n), data) for n, data in enumerate(large))))
    )
    assert [block["type"] for block in blocks] == ["text", "text", "image", "image", "image"]


def test_a_refused_request_goes_without_its_pictures() -> None:
    request = asked(named("k"))
    assert images.has_images(request)
    assert not images.has_images(images.replace_with_placeholders(request))
    assert [block["type"] for block in shown(images.replace_with_placeholders(request))] == ["text"]
