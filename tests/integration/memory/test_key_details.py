"""What was said long ago survives many compactions: in the newest summary, or beside it in its own words, or found
again by a question that names it."""

import json
from decimal import Decimal

import pytest

from parlour.infra.ids import uuid7
from parlour.records import backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.conversation_harness import ConversationHarness, WordEmbedder, text_answer
from tests.integration.memory.long_conversation import LongConversation, summary_answer

_COMPACTIONS = 10
_BETWEEN = 6
"""Turns that each of them takes in."""


_CRANES = (
    "heron",
    "falcon",
    "magpie",
    "swallow",
    "pelican",
    "osprey",
    "sparrow",
    "puffin",
    "kestrel",
    "lapwing",
    "plover",
    "curlew",
    "dunlin",
    "gannet",
    "petrel",
    "siskin",
    "linnet",
    "fulmar",
    "avocet",
    "bittern",
)


@pytest.fixture
def talk(desk: ConversationHarness) -> LongConversation:
    return LongConversation(desk)


def planted(talk: LongConversation, number: int) -> str:
    """A turn with something that must survive, and what that is."""
    code = f"PX-{48_000 + number}"
    talk.ask(f"The permit of the {_CRANES[number]} crane is {code}.", text_answer("Noted."))
    return code


def embed(desk: ConversationHarness) -> None:
    services = EmbeddingDependencies(
        desk.database,
        EmbeddingSpaces([PricedEmbedder(WordEmbedder())]),
        desk.embedding,
        backfill.run_backfill,
        Decimal(20),
        desk.clock,
        uuid7,
    )
    embedding_job.embed_tenant(services, desk.tenant_id, lambda: 300.0)


def test_identifiers_survive_ten_compactions_of_which_a_third_lose_them_all(talk: LongConversation) -> None:
    codes: list[str] = []
    talk.run_turns(2)
    for compaction in range(_COMPACTIONS):
        for _ in range(2):
            codes.append(planted(talk, len(codes)))
        talk.run_turns(_BETWEEN - 2, first=100 * compaction)
        forgetful = compaction % 3 == 0
        talk.run_summary_job(
            summary_answer("They talk." if forgetful else "The permits are " + ", ".join(codes[-6:]) + ".")
        )
    told = " ".join([str(talk.versions()[-1][2]), *talk.key_details()])
    covered = talk.versions()[-1][1]
    ((planted_until,),) = talk.desk.query(
        f"SELECT count(*) FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.session_id = '{talk.session}'"
        f" AND m.body LIKE 'The permit of%' AND t.number <= {covered}"
    )
    assert len(talk.versions()) >= _COMPACTIONS - 1
    assert all(code in told for code in codes[: int(str(planted_until))])
    embed(talk.desk)
    asked = talk.ask(f"What is the permit of the {_CRANES[1]} crane?", text_answer("It is there."))
    assert "PX-48001" in asked, "what has no room beside the summary is found by a question that names it"
    assert codes[-1] in asked


def test_an_anchor_is_found_by_what_its_messages_dealt_with(talk: LongConversation) -> None:
    for number in range(30):
        talk.ask(f"Is the scaffold of tower {number} tied?", text_answer("It is tied."))
        if number % 8 == 7:
            talk.run_summary_job(*[summary_answer("They talk.")] * 2)
    talk.run_summary_job(*[summary_answer("They talk.")] * 2)
    for number in range(20):
        talk.ask(f"And the rain of day {number}?", text_answer("It rained."))
        if number % 8 == 7:
            talk.run_summary_job(*[summary_answer("They talk.")] * 2)
    embed(talk.desk)
    talk.ask("Which scaffold ties did we go through?")
    recalled = [one for one in talk.explain_prompt()["candidates"] if one["kind"] == "recall" and one["is_included"]]
    anchors = talk.desk.query("SELECT id FROM context_rows WHERE kind = 'summary_anchor' AND NOT pending")
    assert anchors
    assert {str(one) for (one,) in anchors} & {one["source"]["id"] for one in recalled}


def test_the_notes_of_a_talk_are_json_that_a_summariser_can_read(talk: LongConversation) -> None:
    talk.run_turns(9)
    talk.run_summary_job(summary_answer("They talk.", agent_state_updates={"assumptions": [_ASSUMED]}))
    talk.run_turns(6, first=10)
    talk.run_summary_job(summary_answer("They talk."))
    asked = json.loads(talk.summariser_prompt())
    assert "Every tower stands." in str(asked)


_ASSUMED = {"id": "a1", "hypothesis": "Every tower stands.", "confidence": 0.7}
