"""Everything stands in the prompt in its order and within its budget; what is in decides the fingerprint."""

from dataclasses import replace

from parlour.context import prompt_record
from parlour.context.prompt_record import PromptInputs
from parlour.context.segment import Lot
from parlour.infra.jsonable import JsonObject
from parlour.knowledge.records.definition import Definition
from parlour.pulse import prompt
from parlour.pulse.fingerprint import fingerprint, results
from parlour.pulse.material import assembled
from parlour.pulse.material.assembled import LONGEST_ANSWER, MATERIAL, TOTAL, Prompted
from parlour.pulse.material.documents import documents
from parlour.pulse.material.gather import Gathered
from tests.unit.pulse.making import KIND, NOW, change, count, gathered, row, subject

MODEL = "anthropic/claude-haiku-4-5"
LONG = "The slab was poured on Monday and inspected on Tuesday by people who had seen many slabs. " * 12


def prompted(found: Gathered) -> Prompted:
    told = prompt.instructions(KIND)
    return assembled.prompt("Harbour Office", told, prompt.words("project/harbour"), documents(found), 0, MODEL, NOW)


def print_of(made: Prompted, **other: object) -> str:
    known: dict[str, object] = {"prompt_version": "v", "model": MODEL, "level": 0, "question": ""}
    return fingerprint(made.documents, {"status": "on site"}, **{**known, **other})  # type: ignore[arg-type]


def crowded() -> Gathered:
    """More than there is room for."""
    rows = [row(number, f"{number} {LONG}", number if number <= 3 else 0, page=number) for number in range(1, 20)]
    changes = [change(number, f"Task {number}: {LONG}") for number in range(20)]
    return gathered(rows=rows, changes=changes, counts=[count(f"state {n}", n) for n in range(1, 200)])


def test_counts_come_first_then_the_record_changes_links_files_and_what_is_near() -> None:
    lots = [one.lot for one in documents(gathered())]
    assert lots == [
        Lot.COUNTS, Lot.RECORD, Lot.CHANGES, Lot.LINKED, Lot.DISTILLATIONS, Lot.DISTILLATIONS, Lot.NEAREST
    ]  # fmt: skip
    system = str(prompted(gathered()).assembled.prompt.system[-1]["text"])
    places = [system.index(f"\n[{number}] ") for number in range(1, 8)]
    assert places == sorted(places)


def test_a_piece_that_can_be_cited_by_page_comes_before_the_file_in_short() -> None:
    pieces = [one for one in documents(gathered()) if one.lot is Lot.DISTILLATIONS]
    assert [one.locator for one in pieces] == ["page 12", ""]


def test_the_budget_holds_and_the_record_is_in_whatever_else_is_there() -> None:
    made = prompted(crowded())
    tokens = made.assembled.tokens_by_layer
    assert tokens["briefing"] <= MATERIAL
    assert sum(tokens.values()) + LONGEST_ANSWER <= TOTAL
    lots = {one.lot for one in made.documents}
    assert lots >= {Lot.COUNTS, Lot.RECORD, Lot.CHANGES, Lot.LINKED, Lot.DISTILLATIONS}
    assert len(made.documents) < len(documents(crowded()))
    assert made.assembled.ledger.marked == ()


def test_a_document_has_the_words_that_stand_in_the_prompt() -> None:
    made = prompted(crowded())
    system = str(made.assembled.prompt.system[-1]["text"])
    for one in made.documents:
        assert one.numbered(one.text) in system


def test_everything_that_stands_there_or_was_counted_is_told_of() -> None:
    made = prompted(gathered())
    assert {one.split("/")[0] for one in made.told_of} == {"entities", "context_rows", "files"}
    assert set(gathered().counts[0].records) <= set(made.told_of)
    assert f"entities/{subject().id}" in made.told_of
    assert set(gathered().linked_rows.values()) <= set(made.told_of)


def test_the_prompt_is_made_again_from_its_record() -> None:
    made = prompted(crowded())
    inputs, texts = prompt_record.dump(made.inputs)
    again = prompt_record.restore(PromptInputs, inputs, texts).begun.step(1, ())
    assert again.prompt.hash == made.assembled.prompt.hash


def test_the_same_set_has_the_same_fingerprint_whenever_it_is_read() -> None:
    later = assembled.prompt(
        "Harbour Office", prompt.instructions(KIND), "Write.", documents(gathered()), 0, MODEL, NOW.replace(day=20)
    )
    assert print_of(prompted(gathered())) == print_of(later)


def test_a_row_that_another_outranks_changes_it() -> None:
    mine, sibling = row(4, "The wind limit of the crane is 38 km/h."), row(5, "The hoist is late.")
    before = prompted(gathered(rows=[mine, replace(sibling, place=6)]))
    after = prompted(gathered(rows=[replace(mine, place=6), sibling]))
    assert print_of(before) != print_of(after)
    assert print_of(prompted(gathered(rows=[mine]))) != print_of(prompted(gathered(rows=[sibling])))


def test_a_candidate_that_did_not_get_in_does_not_change_it() -> None:
    rows = [row(number, f"{number} {LONG}") for number in range(1, 20)]
    made = prompted(gathered(rows=rows))
    assert len(made.documents) < len(documents(gathered(rows=rows)))
    last = replace(rows[-1], content=f"other {LONG}")
    assert print_of(made) == print_of(prompted(gathered(rows=[*rows[:-1], last])))


def test_every_other_part_changes_it() -> None:
    made = prompted(gathered())
    others = [
        print_of(made, prompt_version="w"), print_of(made, model="anthropic/other"), print_of(made, level=1),
        print_of(made, question="What are the risks?"), print_of(prompted(gathered(counts=[count("open", 4)]))),
        print_of(prompted(gathered(changes=[change(2)]))),
        fingerprint(made.documents, {"status": "done"}, prompt_version="v", model=MODEL, level=0),
    ]  # fmt: skip
    assert len({print_of(made), *others}) == len(others) + 1


def test_levels_with_one_result_set_are_told_apart_by_nothing_else() -> None:
    made = prompted(gathered())
    assert results(made.documents) == results(prompted(gathered()).documents)


def test_a_kinds_own_prompt_says_what_matters() -> None:
    kind = Definition("risk", "Risk", {}, {"pulse_prompt": "Say what decision is next."})
    assert "Say what decision is next." in prompt.instructions(kind)
    assert "Say what decision is next." not in prompt.instructions(kind, answers=True)


def test_a_kind_without_one_has_it_derived_from_template_and_properties() -> None:
    properties: JsonObject = {
        "amount": {"type": "number", "unit": "GBP", "label": "contract sum"}, "due": {"type": "date"},
        "state": {"type": "choice"}, "subject": {"type": "text"}, "note": {"type": "text"},
    }  # fmt: skip
    rag: JsonObject = {"semantic": "{{name}}: {{subject}}", "status_properties": ["state"]}
    told = prompt.focus(Definition("contract", "Contract", properties, rag))
    for said in ("state of this contract", "stands: state.", "due", "contract sum (GBP)", "subject"):
        assert said in told
    assert "note" not in told


def test_other_words_are_another_version() -> None:
    assert prompt.version(prompt.instructions(KIND)) == prompt.version(prompt.instructions(KIND))
    assert prompt.version(prompt.instructions(KIND)) != prompt.version(prompt.instructions(KIND, answers=True))


def test_a_question_is_what_the_user_says() -> None:
    assert prompt.words("project/harbour", "What are the risks?") == "What are the risks?"
    assert "project/harbour" in prompt.words("project/harbour")
