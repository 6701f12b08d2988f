"""Everything stands in the prompt in its order and within its budget; what is in decides the fingerprint."""

from dataclasses import replace

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.segment import SourceKind
from parlour.prompts.ledger import prompt_record
from parlour.prompts.ledger.prompt_record import PromptInputs
from parlour.pulse.material import prompt_assembly
from parlour.pulse.material.numbered_sources import number_sources
from parlour.pulse.material.prompt_assembly import MAX_ANSWER_TOKENS, MAX_MATERIAL_TOKENS, MAX_TOTAL_TOKENS, PulsePrompt
from parlour.pulse.material.source_material import SourceMaterial
from parlour.pulse.writing import prompt
from parlour.pulse.writing.fingerprint import fingerprint, source_hashes
from parlour.records.record_type import RecordType
from tests.unit.pulse.material_builders import KIND, NOW, make_change, make_count, make_material, make_row, make_subject

MODEL = "anthropic/claude-haiku-4-5"
LONG = "The slab was poured on Monday and inspected on Tuesday by people who had seen many slabs. " * 12


def prompted(found: SourceMaterial) -> PulsePrompt:
    told = prompt.system_prompt(KIND)
    return prompt_assembly.assemble_prompt(
        "Harbour Office", told, prompt.user_text("project/harbour"), number_sources(found), 0, MODEL, NOW
    )


def print_of(made: PulsePrompt, **other: object) -> str:
    known: dict[str, object] = {"prompt_version": "v", "model": MODEL, "level": 0, "question": ""}
    return fingerprint(made.documents, {"status": "on site"}, **{**known, **other})  # type: ignore[arg-type]


def crowded() -> SourceMaterial:
    """More than there is room for."""
    rows = [make_row(number, f"{number} {LONG}", number if number <= 3 else 0, page=number) for number in range(1, 20)]
    changes = [make_change(number, f"Task {number}: {LONG}") for number in range(20)]
    return make_material(rows=rows, changes=changes, counts=[make_count(f"state {n}", n) for n in range(1, 200)])


def test_counts_come_first_then_the_record_changes_links_files_and_what_is_near() -> None:
    lots = [one.source_kind for one in number_sources(make_material())]
    assert lots == [
        SourceKind.COUNTS,
        SourceKind.RECORD,
        SourceKind.CHANGES,
        SourceKind.LINKED,
        SourceKind.FILE_SUMMARIES,
        SourceKind.FILE_SUMMARIES,
        SourceKind.NEAREST,
    ]
    system = str(prompted(make_material()).assembled.prompt.system[-1]["text"])
    places = [system.index(f"\n[{number}] ") for number in range(1, 8)]
    assert places == sorted(places)


def test_a_piece_that_can_be_cited_by_page_comes_before_the_file_in_short() -> None:
    pieces = [one for one in number_sources(make_material()) if one.source_kind is SourceKind.FILE_SUMMARIES]
    assert [one.locator for one in pieces] == ["page 12", ""]


def test_the_budget_holds_and_the_record_is_in_whatever_else_is_there() -> None:
    made = prompted(crowded())
    tokens = made.assembled.tokens_by_layer
    assert tokens["briefing"] <= MAX_MATERIAL_TOKENS
    assert sum(tokens.values()) + MAX_ANSWER_TOKENS <= MAX_TOTAL_TOKENS
    lots = {one.source_kind for one in made.documents}
    assert lots >= {
        SourceKind.COUNTS,
        SourceKind.RECORD,
        SourceKind.CHANGES,
        SourceKind.LINKED,
        SourceKind.FILE_SUMMARIES,
    }
    assert len(made.documents) < len(number_sources(crowded()))
    assert made.assembled.ledger.breakpoints == ()


def test_a_document_has_the_words_that_stand_in_the_prompt() -> None:
    made = prompted(crowded())
    system = str(made.assembled.prompt.system[-1]["text"])
    for one in made.documents:
        assert one.with_number(one.text) in system


def test_everything_that_stands_there_or_was_counted_is_told_of() -> None:
    made = prompted(make_material())
    assert {one.split("/")[0] for one in made.source_ids} == {"entities", "context_rows", "files"}
    assert set(make_material().counts[0].record_ids) <= set(made.source_ids)
    assert f"entities/{make_subject().id}" in made.source_ids
    assert set(make_material().linked_ids_by_handle.values()) <= set(made.source_ids)


def test_the_prompt_is_made_again_from_its_record() -> None:
    made = prompted(crowded())
    inputs, texts = prompt_record.serialize_part(made.inputs)
    again = prompt_record.restore_part(PromptInputs, inputs, texts).prepared_turn.assemble_step(1, ())
    assert again.prompt.hash == made.assembled.prompt.hash


def test_the_same_set_has_the_same_fingerprint_whenever_it_is_read() -> None:
    later = prompt_assembly.assemble_prompt(
        "Harbour Office",
        prompt.system_prompt(KIND),
        "Write.",
        number_sources(make_material()),
        0,
        MODEL,
        NOW.replace(day=20),
    )
    assert print_of(prompted(make_material())) == print_of(later)


def test_another_row_changes_it_and_another_order_does_not() -> None:
    mine, sibling = make_row(4, "The wind limit of the crane is 38 km/h."), make_row(5, "The hoist is late.")
    before = prompted(make_material(rows=[mine, replace(sibling, rank=6)]))
    after = prompted(make_material(rows=[replace(mine, rank=6), sibling]))
    assert print_of(before) == print_of(after)
    assert print_of(before) != print_of(prompted(make_material(rows=[mine])))
    assert print_of(prompted(make_material(rows=[mine]))) != print_of(prompted(make_material(rows=[sibling])))


def test_a_candidate_that_did_not_get_in_does_not_change_it() -> None:
    rows = [make_row(number, f"{number} {LONG}") for number in range(1, 20)]
    made = prompted(make_material(rows=rows))
    assert len(made.documents) < len(number_sources(make_material(rows=rows)))
    last = replace(rows[-1], content=f"other {LONG}")
    assert print_of(made) == print_of(prompted(make_material(rows=[*rows[:-1], last])))


def test_every_other_part_changes_it() -> None:
    made = prompted(make_material())
    others = [
        print_of(made, prompt_version="w"),
        print_of(made, model="anthropic/other"),
        print_of(made, level=1),
        print_of(made, question="What are the risks?"),
        print_of(prompted(make_material(counts=[make_count("open", 4)]))),
        print_of(prompted(make_material(changes=[make_change(2)]))),
        fingerprint(made.documents, {"status": "done"}, prompt_version="v", model=MODEL, level=0),
    ]
    assert len({print_of(made), *others}) == len(others) + 1


def test_levels_with_one_result_set_are_told_apart_by_nothing_else() -> None:
    made = prompted(make_material())
    assert source_hashes(made.documents) == source_hashes(prompted(make_material()).documents)


def test_a_kinds_own_prompt_says_what_matters() -> None:
    kind = RecordType("risk", "Risk", {}, {"pulse_prompt": "Say what decision is next."})
    assert "Say what decision is next." in prompt.system_prompt(kind)
    assert "Say what decision is next." not in prompt.system_prompt(kind, is_question=True)


def test_a_kind_without_one_has_it_derived_from_template_and_properties() -> None:
    properties: JsonObject = {
        "amount": {"type": "number", "unit": "GBP", "label": "contract sum"},
        "due": {"type": "date"},
        "state": {"type": "choice"},
        "subject": {"type": "text"},
        "note": {"type": "text"},
    }
    rag: JsonObject = {"semantic": "{{name}}: {{subject}}", "status_properties": ["state"]}
    told = prompt.focus_text(RecordType("contract", "Contract", properties, rag))
    for said in ("state of this contract", "stands: state.", "due", "contract sum (GBP)", "subject"):
        assert said in told
    assert "note" not in told


def test_other_words_are_another_version() -> None:
    assert prompt.prompt_version(prompt.system_prompt(KIND)) == prompt.prompt_version(prompt.system_prompt(KIND))
    assert prompt.prompt_version(prompt.system_prompt(KIND)) != prompt.prompt_version(
        prompt.system_prompt(KIND, is_question=True)
    )


def test_a_question_is_what_the_user_says() -> None:
    assert prompt.user_text("project/harbour", "What are the risks?") == "What are the risks?"
    assert "project/harbour" in prompt.user_text("project/harbour")
