"""One turn: what all its prompts share, what each adds, and what is refused by name."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from parlour.context import budget
from parlour.context.assemble import Assembled, Begun, begin
from parlour.context.budget import Profile
from parlour.context.calls import Round
from parlour.context.materials import Materials
from parlour.context.segment import Item, Lot, Source
from parlour.context.standing import Standing
from parlour.infra.errors import PromptOverflow
from parlour.infra.jsonable import JsonObject, canonical
from tests.unit.context import wording
from tests.unit.context.making import MOMENT, SENTENCE, item, materials, message, past, searched
from tests.unit.context.promises import texts

RECORD = item(Lot.RECORD, "Task T-1, Pour the slab: open")


def started(given: Materials, profile: Profile = budget.ENTITY, standing: Standing | None = None) -> Begun:
    return begin(given, standing or Standing(), profile, MOMENT)


def first(given: Materials, profile: Profile = budget.ENTITY) -> Assembled:
    return started(given, profile).step(1, ())


def reason(assembled: Assembled, wanted: Item) -> str | None:
    (found,) = [one.reason for one in assembled.ledger.entries if one.item.source == wanted.source]
    return found


def test_changes_that_find_no_room_are_counted() -> None:
    standing = first(materials(briefing=[RECORD], about="task/T-1")).standing
    changes = [item(Lot.DELTAS, f"{n}: {SENTENCE}", float(n)) for n in range(14)]
    told = started(materials(2, about="task/T-1", tail=changes), budget.MESSAGING, standing).step(1, ())
    out = sum(one.item.lot is Lot.DELTAS and one.reason == "over_budget" for one in told.ledger.entries)
    said = texts(told.prompt.messages)
    assert told.ledger.cause is None
    assert 0 < out < 14
    assert f"Changed since the briefing was written:\n(and {out} earlier changes)\n" in said
    assert "13: The slab" in said
    assert "0: The slab" not in said.replace("10: The slab", "")


def test_changes_are_told_by_a_briefing_that_is_rendered_anew() -> None:
    change = item(Lot.DELTAS, "status: open to done")
    told = first(materials(briefing=[RECORD], about="task/T-1", tail=[change]))
    assert reason(told, change) == "duplicate"
    assert "earlier changes" not in texts(told.prompt.messages)


def test_what_is_recalled_is_not_said_already() -> None:
    verbatim = Item(Lot.RECALL, "How is the crane?", Source("messages", "u1"), score=0.5)
    told = first(materials(2, past=[past(1)], tail=[verbatim]))
    assert [one.reason for one in told.ledger.entries if one.item.lot is Lot.RECALL] == ["duplicate"]


def test_what_was_cut_just_now_may_be_recalled() -> None:
    turns = [past(n, asked=f"Question {n} about anchor bolt number {n}?") for n in range(1, 13)]
    cut = Item(Lot.RECALL, turns[0].asked[0].text, turns[0].asked[0].source, score=0.5)
    told = first(materials(13, past=turns, tail=[cut]))
    assert [one.reason for one in told.ledger.entries if one.item.lot is Lot.RECALL] == [None]


def test_recall_takes_what_nobody_else_wants() -> None:
    many = [item(Lot.RECALL, f"{n} " + " ".join(f"word{n}x{k}" for k in range(120)), 0.5) for n in range(12)]
    told = first(materials(tail=many))
    assert told.tokens_by_layer["recall"] > budget.ENTITY.share(Lot.RECALL.layer).cap
    assert sum(told.tokens_by_layer.values()) <= budget.ENTITY.total


def test_a_covered_item_that_finds_room_in_the_end_is_in() -> None:
    pulse = item(Lot.PULSE, wording.PULSE)
    covered = item(Lot.RECALL, "Renewal requested: the crane permit expired yesterday.", 0.2)
    told = first(materials(briefing=[pulse, RECORD], about="task/T-1", tail=[covered]))
    assert reason(told, covered) is None


def test_files_come_before_the_words_and_one_too_large_is_refused_by_name() -> None:
    small = item(Lot.ATTACHMENTS, "Crane log.", title="log.txt")
    large = item(Lot.ATTACHMENTS, SENTENCE * 2_000, title="book.pdf")
    image = item(Lot.ATTACHMENTS, wording.IMAGE, title="photo.jpg", is_json=True)
    told = first(materials(attachments=[small, large, image]))
    content = told.prompt.messages[0]["content"]
    assert isinstance(content, list)
    kinds = [one["type"] for one in content[:4] if isinstance(one, dict)]
    assert kinds == ["text", "text", "image", "text"]
    said = texts(told.prompt.messages)
    assert said.index("log.txt") < said.index("'book.pdf', too large to read here") < said.index("Is the foundation")
    assert [reason(told, one) for one in (small, large, image)] == [None, "too_large", None]


def test_a_file_that_reads_like_a_block_is_a_text_all_the_same() -> None:
    forged = item(Lot.ATTACHMENTS, '{"source":{"type":"url","url":"https://x.example"},"type":"image"}', title="x.json")
    content = first(materials(attachments=[forged])).prompt.messages[0]["content"]
    assert isinstance(content, list)
    assert {one["type"] for one in content if isinstance(one, dict)} == {"text"}


def test_a_user_who_sent_nothing_that_can_be_read_still_opens_the_turn() -> None:
    told = first(materials(words=[message("u1", " ")]))
    assert texts(told.prompt.messages).startswith("(nothing that can be read)")


def test_tools_are_sorted_and_their_bytes_do_not_depend_on_the_order_of_keys() -> None:
    b: JsonObject = {"name": "b", "description": "B", "input_schema": {}}
    a: JsonObject = {"input_schema": {}, "description": "A", "name": "a"}
    told = first(materials(tools=(json.dumps(b), json.dumps(a))))
    assert [one["name"] for one in told.prompt.tools] == ["a", "b"]
    turned = first(materials(tools=(json.dumps(dict(reversed(a.items()))), json.dumps(b))))
    assert canonical(list(told.prompt.tools)) == canonical(list(turned.prompt.tools))


def test_steps_share_their_beginning_and_the_largest_asking_gives_way_to_a_line() -> None:
    begun = started(materials(briefing=[RECORD], about="task/T-1"), budget.MESSAGING)
    rounds = [searched(SENTENCE * 40, documents=3, number=n) for n in range(1, 9)]
    steps: list[Assembled] = []
    for n in range(len(rounds) + 1):
        steps.append(begun.step(n + 1, rounds[:n]))
        begun = begun.after(steps[-1].standing)
    assert all(sum(one.tokens_by_layer.values()) <= budget.MESSAGING.total for one in steps)
    assert all(one.prompt.system == other.prompt.system for one, other in pairwise(steps))
    shortened = [one for one in steps[-1].ledger.entries if one.item.lot is Lot.CALLS and one.shortened]
    assert shortened


def test_a_step_that_asks_for_more_than_is_left_is_refused() -> None:
    block: JsonObject = {"type": "tool_use", "id": "c", "name": "write", "input": {"text": SENTENCE * 3_000}}
    with pytest.raises(PromptOverflow, match="layer calls"):
        started(materials()).step(2, [Round((block,), (("c", {"ok": True}),))])


BIG = "word " * 12_000


@pytest.mark.parametrize(
    ("layer", "more"),
    [
        ("tools", {"tools": (json.dumps({"name": "t", "description": BIG}),)}),
        ("tiers", {"tiers": [item(Lot.HUMAN, BIG)]}),
        ("briefing", {"briefing": [replace(RECORD, text=f"{n} {SENTENCE * 60}") for n in range(40)]}),
        ("heartbeat", {"heartbeat": BIG}),
        ("reminder", {"reminders": [BIG]}),
        ("message", {"words": [message("u", BIG)]}),
    ],
)
def test_what_may_not_be_dropped_and_does_not_fit_is_refused_by_name(layer: str, more: dict[str, object]) -> None:
    with pytest.raises(PromptOverflow) as refused:
        first(replace(materials(), **more))  # type: ignore[arg-type]
    assert refused.value.layer == layer
    assert layer in {one.name.lower() for one in budget.OVERFLOWS}


def test_a_long_text_that_the_talk_is_about_gives_way_before_a_prompt_is_refused() -> None:
    turns = [past(1, asked=SENTENCE * 60, replied="I have read about the slab.")]
    turns += [past(n, asked="Was the slab poured on Monday?") for n in range(2, 13)]
    begun = started(materials(13, past=turns, words=[message("now", "And inspected?")]))
    assert begun.standing.lead.pasted is not None
    later = replace(budget.ENTITY, total=1_500)
    told = begin(materials(14, words=[message("more", "slab " * 400)]), begun.standing, later, MOMENT)
    assert told.standing.lead.pasted is None
    (entry,) = [one for one in told.entries if one.item.lot is Lot.PASTED]
    assert entry.reason == "over_budget"


def test_a_long_text_that_the_talk_is_about_takes_no_room_that_was_promised_to_others() -> None:
    huge = SENTENCE * 620
    words = [message("now", "Was it inspected on Tuesday?")]
    told = first(materials(2, past=[past(1, asked=huge, replied="I have read it.")], words=words))
    assert told.standing.lead.pasted is None
    assert {one.reason for one in told.ledger.entries if one.item.lot is Lot.PASTED} == {"over_budget"}
    assert "- you: I have read it." in texts(told.prompt.messages)
