"""Of more pictures than a prompt may hold a turn's last are refused by name; earlier ones make room by a cut."""

from dataclasses import replace

from parlour.infra.json_values import JsonObject
from parlour.models.model import content_blocks
from parlour.prompts.assembly import budget
from parlour.prompts.assembly.assembler import AssembledPrompt, prepare_turn
from parlour.prompts.assembly.attachments import attachment_items, past_attachment_items
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.materials import PromptMaterials
from parlour.prompts.assembly.segment import Item, Layer, Source, SourceKind
from tests.unit.prompts.prompt_builders import MOMENT, make_materials, make_past_turn

MB = 1024 * 1024
ROOMY = budget.resolve_profile(
    {"profile": "entity", "tokens": 40_000, "layers": {"history": {"floor": 1_500, "cap": 20_000}}}
)
"""Tokens are not what there is too little of."""


def photo(name: str, size_mb: float, *, refused: bool = False) -> JsonObject:
    """A picture as the attachments keep it."""
    return {
        "id": name,
        "kind": "image",
        "name": name,
        "object_key": name,
        "sha256": name,
        "media_type": "image/png",
        "size_bytes": int(size_mb * MB),
        "problem": None,
        "is_omitted": refused,
        "current_classification": 0,
        "is_file_deleted": False,
        "file_id": None,
    }


def first(given: PromptMaterials, standing: PromptCacheState | None = None) -> AssembledPrompt:
    return prepare_turn(given, standing or PromptCacheState(), ROOMY, MOMENT).assemble_step(1, ())


def shown(assembled: AssembledPrompt) -> list[str]:
    """What stands for the pictures in a prompt: their names, or what is said instead."""
    found = [block for message in assembled.prompt.messages for block in content_blocks(message)]
    named = [(one.get("source"), str(one.get("text", ""))) for one in found]
    return [
        str(source["name"]) if isinstance(source, dict) else text
        for source, text in named
        if isinstance(source, dict) or "too large" in text
    ]


REFUSED = "[The user also sent 'd', too large to read here.]"


def test_what_takes_a_turns_pictures_over_the_limit_is_refused_by_name_now_and_later() -> None:
    rows = [photo(name, 3.5) for name in "abcd"]
    opening = first(make_materials(attachments=attachment_items(rows, 1)))
    assert shown(opening) == ["a", "b", "c", REFUSED]
    assert [one.item.title for one in opening.ledger.entries if one.reason == "too_large"] == ["d"]

    kept = past_attachment_items([{**one, "is_omitted": one["name"] == "d"} for one in rows], 1)
    later = first(
        make_materials(2, past_turns=[make_past_turn(1, "Is the foundation safe?", attachments=kept)]),
        opening.cache_state,
    )
    assert shown(later) == shown(opening)
    assert later.ledger.cache_miss is not None
    assert later.ledger.cache_miss.layer is Layer.HEARTBEAT, "what was sent is read from the cache"


def test_earlier_pictures_make_room_for_new_ones_by_a_cut_that_is_the_cause() -> None:
    turns = [
        make_past_turn(number, attachments=past_attachment_items([photo(f"old-{number}", 3)], 1))
        for number in (1, 2, 3)
    ]
    before = first(make_materials(4, past_turns=turns))
    assert shown(before) == ["old-1", "old-2", "old-3"]

    after = first(
        make_materials(5, past_turns=[*turns, make_past_turn(4)], attachments=attachment_items([photo("new", 3.7)], 1)),
        before.cache_state,
    )
    assert shown(after) == ["old-3", "new"]
    assert after.cache_state.compacted_history.since_turn == 3
    assert "- user sent old-1" in after.cache_state.compacted_history.recap
    assert after.ledger.cache_miss is not None
    assert after.ledger.cache_miss.cause == "compaction"


def test_a_turn_whose_pictures_leave_no_room_for_the_last_ones_is_still_answered() -> None:
    large = make_past_turn(1, attachments=past_attachment_items([photo(name, 3.5) for name in "abc"], 1))
    now = first(
        make_materials(2, past_turns=[large], attachments=attachment_items([photo(name, 3.5) for name in "efg"], 1))
    )
    assert shown(now) == ["e", "f", "g"]


def test_a_picture_of_an_unknown_size_is_shown() -> None:
    item = Item(
        SourceKind.ATTACHMENTS, '{"source":{"name":"x"},"type":"image"}', Source("attachments", "x"), is_json=True
    )
    assert shown(first(replace(make_materials(), attachments=[item]))) == ["x"]
