"""Which texts of a prompt's record go with a source, a turn or a summary, and which are the tenant's own."""

from datetime import UTC, datetime

from parlour.context import forms
from parlour.context.calls import Round
from parlour.context.forms import Made
from parlour.context.lead import Lead
from parlour.context.ledger import Entry, text_hash
from parlour.context.materials import Materials
from parlour.context.past import Message, PastTurn
from parlour.context.pins import Held, Pinned
from parlour.context.segment import Block, Item, Layer, Lot, Segment, Source
from parlour.context.standing import Standing
from parlour.forgetting.shelves import Shelf, Sought
from parlour.infra.jsonable import JsonObject

MESSAGE, RECORD, FACT, TURN = (f"0190b6a0-0000-7000-8000-00000000000{n}" for n in range(1, 5))
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def shelf(value: object) -> Shelf:
    return Shelf.of(forms.shelved(value)[0])


def materials(**given: object) -> Materials:
    return Materials(1, (), (), "09:30", (), **given)  # type: ignore[arg-type]


def test_a_message_goes_with_its_words_and_nothing_beside_it() -> None:
    past = [
        PastTurn(1, TURN, (Message("my code is 4711", Source("messages", MESSAGE)),)),
        PastTurn(2, RECORD, (Message("good morning", Source("messages", FACT)),)),
    ]
    found = shelf(materials(past=past)).sought(Sought({("messages", MESSAGE)}))
    assert found == {text_hash("my code is 4711")}


def test_a_turn_goes_with_all_that_was_said_and_called_in_it() -> None:
    called: tuple[JsonObject, ...] = (
        {"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": {"code": 4711}}]},
    )
    past = [PastTurn(1, TURN, (Message("hello", Source("messages", FACT)),), called)]
    found = shelf(materials(past=past)).sought(Sought(turns={TURN}))
    assert text_hash("hello") in found
    assert len(found) == 2


def test_an_item_that_tells_of_a_source_besides_its_own_goes_with_it() -> None:
    pulse = Item(
        Lot.PULSE, "Asha waits", Source("pulses", RECORD), ("shorter",), title="Pulse",
        also=(Source("messages", MESSAGE),),
    )  # fmt: skip
    found = shelf(materials(briefing=[pulse])).sought(Sought({("messages", MESSAGE)}))
    assert found == {text_hash("Asha waits"), text_hash("shorter"), text_hash("Pulse")}
    assert shelf(materials(briefing=[pulse])).sought(Sought({("messages", FACT)})) == set()


def test_a_recap_loses_the_lines_of_turns_that_go() -> None:
    standing = Standing(lead=Lead(3, ("- user: one", "- you: two", "- user: three"), (1, 1, 2)))
    assert shelf(standing).sought(Sought(numbers={1})) == {text_hash("- user: one"), text_hash("- you: two")}


def test_a_piece_of_a_pinned_briefing_goes_with_the_item_that_it_stands_for() -> None:
    pieces = ("# The record", "Asha's order", "another")
    segment = Segment(Layer.BRIEFING, "briefing", "system", (Block(pieces, 9),))
    held = (Held(Item(Lot.RECORD, "", Source("entities", RECORD)), 3, 1),)
    pinned = Pinned(segment, (Source("entities", RECORD),), "", {}, 0, NOW, held)
    found = shelf(Standing(pinned=pinned)).sought(Sought({("entities", RECORD)}))
    assert text_hash("Asha's order") in found
    assert text_hash("another") not in found


def test_notes_on_a_conversation_are_known_by_their_session() -> None:
    note = Item(Lot.STATE, "waits for a crane", Source("agent_states", f"{TURN}/expectations"))
    found = shelf(materials(tail=[note])).sought(Sought({("agent_states", TURN)}))
    assert text_hash("waits for a crane") in found


def test_what_is_the_tenants_own_is_told_from_what_is_a_persons() -> None:
    made = Made(
        (Round((), ()),),
        (
            Segment(Layer.TIERS, "config", "system", (Block(("be kind",), 2),)),
            Segment(Layer.HISTORY, "append_only", "messages", (Block(("my code is 4711",), 4, "user"),)),
        ),
        (
            Entry(Item(Lot.RECALL, "he asked twice", Source("messages", MESSAGE)), 3),
            Entry(Item(Lot.AGENT, "answer briefly", Source("agents", RECORD)), 3),
        ),
        (),
    )
    own = shelf(made).everybodys()
    assert {text_hash("be kind"), text_hash("answer briefly")} <= own
    assert not {text_hash("my code is 4711"), text_hash("he asked twice")} & own


def test_a_record_that_names_none_of_the_ids_need_not_be_read_closely() -> None:
    one = shelf(materials(tail=[Item(Lot.FACTS, "name: Asha", Source("facts", FACT))]))
    assert one.mentions({FACT, "x"})
    assert not one.mentions({MESSAGE})
