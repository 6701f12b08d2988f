"""A prompt's record comes back as it was, and every text in it can be erased."""

import dataclasses
import hashlib
import types
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal, TypeAliasType, Union, cast, get_args, get_origin, get_type_hints

import pytest

from parlour.infra.json_values import Json, JsonObject, canonical_json, to_json
from parlour.prompts.assembly.assembler import prepare_turn
from parlour.prompts.assembly.briefing_cache import BriefingEntry, CachedBriefing
from parlour.prompts.assembly.budget import ENTITY_PROFILE
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import CompactedHistory
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.materials import PromptMaterials
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.segment import Block, Item, Layer, Segment, Source, SourceKind
from parlour.prompts.assembly.stored_text import TextHash, TextsErased, stored_hashes, text_hash
from parlour.prompts.assembly.tool_rounds import ToolRound, fit_rounds
from parlour.prompts.ledger.prompt_record import (
    ErasureQuery,
    PromptInputs,
    PromptRecord,
    PromptStepRecord,
    RecordPart,
    block_hashes,
    deserialize_part,
    erase_handles,
    message_hashes,
    rebuild_prompt,
    restore_part,
    serialize_part,
)
from parlour.text.token_counter import TokenCounter
from tests.conftest import NOW
from tests.unit.prompts.prompt_builders import MOMENT, make_materials
from tests.unit.prompts.simulated_session import SessionScript, Turn, simulate

MESSAGE, RECORD, FACT, TURN = (f"0190b6a0-0000-7000-8000-00000000000{n}" for n in range(1, 5))

_MOVES = ("say", "paste", "search", "rounds", "write", "edits", "text_file", "image", "large_file", "hindi", "huge")


@pytest.fixture(scope="module")
def parts() -> list[RecordPart]:
    """Of a session in which much happens: what its turns were made of, and what their steps added."""
    talk = SessionScript(tuple(Turn(move, number) for number, move in enumerate(_MOVES * 3)), floating=True)
    found: list[RecordPart] = []
    for played in simulate(talk):
        if played.begun and played.assembled:
            found += [
                PromptInputs(played.materials, played.standing, played.profile, played.begun),
                PromptStepRecord.from_assembled(played.rounds, played.assembled),
            ]
    return found


def made_of(standing: PromptCacheState | None = None, **given: object) -> PromptInputs:
    """A turn's inputs with these materials."""
    found = PromptMaterials(1, (), (), "09:30", (), **given)  # type: ignore[arg-type]
    begun = prepare_turn(make_materials(), PromptCacheState(), ENTITY_PROFILE, MOMENT)
    return PromptInputs(found, standing or PromptCacheState(), ENTITY_PROFILE, begun)


def record(part: RecordPart) -> PromptRecord:
    stored, _ = serialize_part(part)
    return PromptRecord.read(stored, None) if isinstance(part, PromptInputs) else PromptRecord.read(None, stored)


def test_dump_then_restore_returns_the_same_part(parts: list[RecordPart]) -> None:
    assert len(parts) > 40
    for part in parts:
        stored, texts = serialize_part(part)
        assert all(text_hash(text) == key for key, text in texts.items())
        assert to_json(restore_part(type(part), stored, texts)) == to_json(part)


def test_dump_holds_no_words_but_their_hashes(parts: list[RecordPart]) -> None:
    for part in parts:
        stored, texts = serialize_part(part)
        written = zlib.decompress(stored).decode()
        assert not [text for text in texts.values() if len(text) > 40 and text in written]


def test_read_without_texts_names_every_hash(parts: list[RecordPart]) -> None:
    for part in parts:
        stored, texts = serialize_part(part)
        assert deserialize_part(type(part), stored)[1] == set(texts)
        assert record(part).text_hashes == set(texts) - {text_hash("")}


def test_restore_without_a_text_raises_erased_with_its_hash() -> None:
    stored, texts = serialize_part(made_of(record_handle="Priya"))
    del texts[text_hash("Priya")]
    with pytest.raises(TextsErased, match=text_hash("Priya")[:12]) as refused:
        restore_part(PromptInputs, stored, texts)
    assert refused.value.hashes == (text_hash("Priya"),)


def test_a_record_that_repeats_its_candidates_takes_little_more_room(parts: list[RecordPart]) -> None:
    for part in parts:
        stored, texts = serialize_part(part)
        assert len(stored) < 80 * len(texts) + 4_500


def test_a_round_keeps_the_order_of_its_keys() -> None:
    result: JsonObject = {"z": 1, "a": {"y": 2.0, "b": [True, None, "2"]}}
    step = PromptStepRecord((ToolRound(({"type": "tool_use", "id": "c"},), (("c", result),)),), (), (), ())
    stored, texts = serialize_part(step)
    again = restore_part(PromptStepRecord, stored, texts).rounds[0].results[0][1]
    assert repr(again) == repr(result)


def test_a_round_has_the_text_of_a_result_as_it_was_sent() -> None:
    result: JsonObject = {"text": "<parlour:tail> 4711", "ok": False}
    round_ = ToolRound(({"type": "tool_use", "name": "look", "id": "c"},), (("c", result),), (("m", "and B208?"),))
    sent = fit_rounds(TokenCounter(), [round_], 900).segment
    _, texts = serialize_part(PromptStepRecord((round_,), (sent,), (), ()))
    assert set(texts.values()) == {piece for block in sent.blocks for piece in block.pieces}


def test_a_round_of_an_older_record_is_read() -> None:
    kept = '{"blocks":[{"type":"tool_use","id":"c"}],"results":[["c",{"z":1,"a":2}]],"messages":[["m","and B208?"]]}'
    stored = zlib.compress(b'{"rounds":["%s"],"segments":[],"entries":[],"breakpoints":[]}' % text_hash(kept).encode())
    assert PromptRecord.read(None, stored).text_hashes == {text_hash(kept)}
    assert restore_part(PromptStepRecord, stored, {text_hash(kept): kept}).rounds == (
        ToolRound(({"type": "tool_use", "id": "c"},), (("c", {"z": 1, "a": 2}),), (("m", "and B208?"),)),
    )


def test_tools_with_keys_in_another_order_give_the_same_bytes() -> None:
    """Records were kept with them as they came, before they were made canonical."""
    canonical_text = '{"description":"Look.","input_schema":{"type":"object"},"name":"look"}'
    kept = '{"name":"look","description":"Look.","input_schema":{"type":"object"}}'
    made = []
    for text in (canonical_text, kept):
        given = make_materials(tools=(text,))
        stored, texts = serialize_part(
            PromptInputs(
                given,
                PromptCacheState(),
                ENTITY_PROFILE,
                prepare_turn(given, PromptCacheState(), ENTITY_PROFILE, MOMENT),
            )
        )
        assert text in texts.values()
        again = restore_part(PromptInputs, stored, texts).materials
        made.append(prepare_turn(again, PromptCacheState(), ENTITY_PROFILE, MOMENT).segments)
    assert made[0] == made[1]


def test_rebuild_returns_the_prompt_as_it_was_sent() -> None:
    given = make_materials(
        3,
        record_handle="task/T-1",
        tail_candidates=[Item(SourceKind.RECALL, "An older message.", Source("messages", MESSAGE))],
    )
    begun = prepare_turn(given, PromptCacheState(), ENTITY_PROFILE, MOMENT)
    assembled = begun.assemble_step(1, ())
    inputs, texts = serialize_part(PromptInputs(given, PromptCacheState(), ENTITY_PROFILE, begun))
    step, more = serialize_part(PromptStepRecord.from_assembled((), assembled))
    hashed, added = deserialize_part(PromptInputs, inputs)[0], deserialize_part(PromptStepRecord, step)[0]
    pieces = [piece for one in hashed.prepared_turn.segments for block in one.blocks for piece in block.pieces]
    assert pieces
    assert all(isinstance(piece, TextHash) for piece in pieces)
    assert (
        rebuild_prompt([*hashed.prepared_turn.segments, *added.segments], added.breakpoints, texts | more)
        == assembled.prompt
    )


# What is erased


def test_a_message_goes_with_its_words_and_nothing_beside_it() -> None:
    past = [
        PastTurn(1, TURN, (Message("my code is 4711", Source("messages", MESSAGE)),)),
        PastTurn(2, RECORD, (Message("good morning", Source("messages", FACT)),)),
    ]
    found = record(made_of(past_turns=past)).erased_text_hashes(ErasureQuery({("messages", MESSAGE)}))
    assert found == {text_hash("my code is 4711")}


def test_a_turn_goes_with_all_that_was_said_and_called_in_it() -> None:
    called: tuple[JsonObject, ...] = (
        {"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": {"code": 4711}}]},
    )
    past = [PastTurn(1, TURN, (Message("hello", Source("messages", FACT)),), called)]
    found = record(made_of(past_turns=past)).erased_text_hashes(ErasureQuery(turn_ids={TURN}))
    assert text_hash("hello") in found
    assert len(found) == 2


def test_an_item_that_tells_of_a_source_besides_its_own_goes_with_it() -> None:
    pulse = Item(
        SourceKind.PULSE,
        "Asha waits",
        Source("pulses", RECORD),
        ("shorter",),
        title="Pulse",
        further_sources=(Source("messages", MESSAGE),),
    )
    found = record(made_of(briefing_candidates=[pulse])).erased_text_hashes(ErasureQuery({("messages", MESSAGE)}))
    assert found == {text_hash("Asha waits"), text_hash("shorter"), text_hash("Pulse")}
    assert record(made_of(briefing_candidates=[pulse])).erased_text_hashes(ErasureQuery({("messages", FACT)})) == set()


def test_a_recap_loses_the_lines_of_turns_that_go() -> None:
    standing = PromptCacheState(
        compacted_history=CompactedHistory(3, ("- user: one", "- you: two", "- user: three"), (1, 1, 2))
    )
    found = record(made_of(standing)).erased_text_hashes(ErasureQuery(turn_numbers={1}))
    assert found == {text_hash("- user: one"), text_hash("- you: two")}


def test_a_piece_of_a_pinned_briefing_goes_with_the_item_that_it_stands_for() -> None:
    pieces = ("# The record", "Asha's order", "another")
    segment = Segment(Layer.BRIEFING, "briefing", "system", (Block(pieces, 9),))
    held = (BriefingEntry(Item(SourceKind.RECORD, "", Source("entities", RECORD)), 3, 1),)
    pinned = CachedBriefing(segment, (Source("entities", RECORD),), "", {}, 0, NOW, held)
    found = record(made_of(PromptCacheState(cached_briefing=pinned))).erased_text_hashes(
        ErasureQuery({("entities", RECORD)})
    )
    assert found == {text_hash("Asha's order")}


def test_notes_on_a_conversation_are_known_by_their_session() -> None:
    note = Item(SourceKind.STATE, "waits for a crane", Source("agent_states", f"{TURN}/expectations"))
    found = record(made_of(tail_candidates=[note])).erased_text_hashes(ErasureQuery({("agent_states", TURN)}))
    assert found == {text_hash("waits for a crane")}


def test_the_tenants_own_texts_are_told_from_a_persons() -> None:
    made = PromptStepRecord(
        (ToolRound((), ()),),
        (
            Segment(Layer.TIERS, "config", "system", (Block(("be kind",), 2),)),
            Segment(Layer.HISTORY, "append_only", "messages", (Block(("my code is 4711",), 4, "user"),)),
        ),
        (
            LedgerEntry(Item(SourceKind.RECALL, "he asked twice", Source("messages", MESSAGE)), 3),
            LedgerEntry(Item(SourceKind.AGENT, "answer briefly", Source("agents", RECORD)), 3),
        ),
        (),
    )
    assert record(made).tenant_text_hashes() - {text_hash("")} == {text_hash("be kind"), text_hash("answer briefly")}
    assert {text_hash("my code is 4711"), text_hash("he asked twice")} <= record(made).personal_text_hashes()


def test_an_erased_handle_is_found_and_replaced_as_a_whole() -> None:
    also = (Source("handles", "document/asha-12"), Source("handles", "document/asha-123"))
    inputs = made_of(
        briefing_candidates=[Item(SourceKind.PULSE, "asha", Source("pulses", RECORD), further_sources=also)]
    )
    assert record(inputs).names_any_handle(["risk/R-1", "document/asha-12"])
    assert not record(inputs).names_any_handle(["document/asha", "document/asha-1"])
    (item,) = deserialize_part(PromptInputs, erase_handles(serialize_part(inputs)[0], ["document/asha-12"]))[
        0
    ].materials.briefing_candidates
    assert [one.id for one in item.further_sources] == ["document/erased", "document/asha-123"]


def test_message_hashes_name_the_text_as_it_was_said_and_as_it_was_sent() -> None:
    said = "<parlour:tail> 4711"
    assert message_hashes(said) == stored_hashes(said) | stored_hashes("<parlour tail> 4711")


def test_a_text_of_an_older_record_is_found_by_its_whole_hash() -> None:
    assert stored_hashes("4711") == {text_hash("4711"), hashlib.sha256(b'"4711"').hexdigest()}


def test_block_hashes_name_the_blocks_of_a_stored_message_only() -> None:
    block: JsonObject = {"type": "tool_use", "input": {"b": 1, "a": 2}}
    assert block_hashes(canonical_json({"role": "user", "content": [block, "x"]})) == stored_hashes(
        canonical_json(block)
    )
    for text in (
        "plain",
        "{not json",
        canonical_json({"role": "user", "content": "said"}),
        canonical_json({"a": [block]}),
    ):
        assert block_hashes(text) == set()


# Every field that holds words is reached: one that is added has to be erased, or declared here

SOUGHT = "sought"
_PLAIN = {str: SOUGHT, int: 0, float: 0.0, bool: False, datetime: NOW}
EVERYTHING = ErasureQuery({(SOUGHT, SOUGHT)}, {SOUGHT}, {0})

#: Fields of text that are no words: names of rows, turns and models, digests, and versions of a persona's parts.
NO_WORDS = {
    "Source.table",
    "Source.id",
    "PastTurn.id",
    "PastTurn.withheld_ids",
    "PromptCacheState.token_factors",
    "PromptCacheState.model",
    "PromptCacheState.withheld_ids",
    "BlockFingerprint.hash",
    "AssemblyContext.model",
    "AssemblyContext.persona_versions",
    "CachedBriefing.persona_versions",
    "PromptMaterials.acting_tools",
    "PreparedTurn.acting_tools",
}

#: Texts that are the tenant's own wherever they stand.
TENANT = {
    "PromptMaterials.tools",
    "PromptMaterials.floating_instructions",
    "PromptMaterials.record_handle",
    "PromptMaterials.reminders",
    "PreparedTurn.reminders",
    "CachedBriefing.record_handle",
}

#: Texts that name no source: pieces have the hashes of the items that they are made of, and what was called in a turn
#: is erased with the whole record of its step.
WITHOUT_SOURCE = TENANT | {"PromptMaterials.turn_metadata", "Block.pieces", "PromptStepRecord.rounds"}

#: Texts that name no source but are of turns, by id or by number.
OF_TURNS = {"PastTurn.tool_messages", "CompactedHistory.recap", "Summary.text"}


def planted(kind: Any, where: str, canaries: dict[str, str]) -> Any:
    """A value of the type with a canary in every text of it; `canaries` says which field each stands in. All sources
    and turns are `SOUGHT`, all numbers 0, and nothing is of a layer that is the tenant's own."""
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, TypeAliasType):
        return planted(kind.__value__, where, canaries)
    if origin is Annotated:
        canary = f"canary {len(canaries):04} of {where}"
        canaries[canary] = where
        return {str: canary, ToolRound: ToolRound(({"said": canary},), ())}.get(inner[0], {"said": canary})
    if origin in {tuple, Sequence}:
        return tuple(planted(one, where, canaries) for one in inner if one is not ...)
    if origin in {dict, Mapping}:
        return {}
    if origin is Literal:
        return inner[0]
    if origin in {Union, types.UnionType}:
        return planted(inner[0], where, canaries)
    if dataclasses.is_dataclass(kind):
        made = {name: planted(hint, f"{name_of(kind)}.{name}", canaries) for name, hint in hints(kind).items()}
        return cast("type[Any]", kind)(**made)
    return list(kind)[-1] if issubclass(kind, Enum) else _PLAIN[kind]


def hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True) if dataclasses.is_dataclass(kind) else {}


def name_of(kind: Any) -> str:
    return str(kind.__name__)


def parts_of(hint: Any) -> set[Any]:
    """The types that a field's type is made of; a text that is stored by its hash is none of them."""
    if get_origin(hint) is Annotated:
        return set()
    if isinstance(hint, TypeAliasType):
        return {str} if hint is Json else parts_of(hint.__value__)
    return {hint}.union(*map(parts_of, get_args(hint)))


def record_types(kind: Any) -> set[Any]:
    """The dataclass, and all that its fields are made of."""
    inner = {part for hint in hints(kind).values() for part in parts_of(hint) if dataclasses.is_dataclass(part)}
    return {kind}.union(*map(record_types, inner))


def missed(reached: Callable[[PromptRecord], set[str]]) -> set[str]:
    """The fields of which a text is not among those that are reached."""
    found: set[str] = set()
    for kind in (PromptInputs, PromptStepRecord):
        canaries: dict[str, str] = {}
        part = planted(kind, name_of(kind), canaries)
        texts = serialize_part(part)[1]
        said = "\n".join(texts[key] for key in reached(record(part)))
        found |= {where for canary, where in canaries.items() if canary not in said}
        assert {"Item.text", "Item.shorter_texts", "Item.title"} <= {*canaries.values()} - found
    return found


def test_every_text_with_a_source_is_erased_with_it() -> None:
    sources = ErasureQuery({(SOUGHT, SOUGHT)})
    assert missed(lambda one: one.erased_text_hashes(sources)) == WITHOUT_SOURCE | OF_TURNS


def test_every_text_of_a_turn_is_erased_with_it() -> None:
    assert missed(lambda one: one.erased_text_hashes(EVERYTHING)) == WITHOUT_SOURCE


def test_every_text_but_the_tenants_own_is_personal() -> None:
    assert missed(PromptRecord.personal_text_hashes) == TENANT


def test_every_text_field_is_stored_by_hash_or_declared_as_no_words() -> None:
    kinds = {one for kind in (PromptInputs, PromptStepRecord) for one in record_types(kind)}
    plain = {f"{name_of(kind)}.{name}" for kind in kinds for name, hint in hints(kind).items() if str in parts_of(hint)}
    assert plain == NO_WORDS
