"""The part of the working day in which what people say of themselves is noticed and looked through: said, said again,
changed, taken back, crowded out and proposed in vain; episodes are written, folded by their words and by
their vectors."""

from datetime import timedelta
from unittest.mock import patch

from parlour.infra.errors import ProviderUnavailable, SpendRefused
from parlour.memory.facts import fact_merge, shared_facts
from parlour.memory.facts.shared_facts import NewSharedFact
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import (
    ExtractionConversation,
    extraction_answer,
    proposed_fact,
    second_answers,
)

_TOLD = "The user does the accounts of the shop in Tally."


def extract_facts(conversation: ConversationHarness) -> None:
    """A visitor tells of themselves."""
    talk = ExtractionConversation(conversation)
    talk.say("My name is Meera. I'm on the Gold plan. We do the accounts of the shop in Tally.")
    talk.run_extraction(SpendRefused("no room"))
    talk.run_extraction(*[ProviderUnavailable("away")] * 4, after=timedelta(hours=2))
    talk.run_extraction(
        extraction_answer(proposed_fact("about.software", "Tally", 1), episodes=[(_TOLD, [1])]),
        after=timedelta(hours=1),
    )
    talk.say("I'm on the Gold plan. We do the accounts of the shop in Tally.")
    talk.run_extraction(
        extraction_answer(proposed_fact("city", "Zurich", 1), episodes=[(_TOLD, [1]), ("Tally has the shop.", [1])])
    )
    talk.say("I may be off the Gold plan soon, and we have bay 4 until tomorrow.")
    tomorrow = (conversation.clock() + timedelta(days=1)).date().isoformat()
    talk.run_extraction(
        extraction_answer(
            proposed_fact("plan", "Gold", 1, "off the Gold plan", polarity="ends"),
            proposed_fact("about.bay", "bay 4", 1, duration="until", until=tomorrow),
        ),
        second_answers("unclear"),
    )
    talk.say("I've switched to the Silver plan. Please forget my name.")
    conversation.query(
        "INSERT INTO embeddings (tenant_id, row_id, space, vector)"
        f" SELECT tenant_id, row_id, 'alike', '[1,0]' FROM episodes WHERE session_id = '{talk.session}' RETURNING 1"
    )
    talk.run_extraction(extraction_answer(), after=timedelta(days=2))
    assert talk.facts() == {"plan": "Silver", "about.software": "Tally"}
    assert talk.episodes() == [(_TOLD, 2)]
    with conversation.database.transaction(conversation.admin) as tx:
        for hours in ("9 to 6", "8 to 6"):
            told = NewSharedFact("team", "site-operations", "opening hours", hours)
            shared_facts.set(conversation.admin, tx, told, conversation.clock())
    with patch.object(fact_merge, "MAX_LIVE_FACTS", 3):
        talk.say("Remember that I like mangoes. Remember that I drink jasmine tea.")
    assert talk.facts().keys() >= {"plan"}
    assert len(talk.facts()) == 3
