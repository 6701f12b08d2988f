"""The part of the working day in which a long conversation is summarised: first in vain, then twice, so that it has two
anchors; what must survive is kept, told, and lost."""

from parlour.infra.errors import SpendRefused
from parlour.memory.leased_job import SPEND_CAP_WAIT
from parlour.memory.summaries.summary_job import FIRST_RETRY_DELAY
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.memory.long_conversation import LongConversation, summary_answer

_BURST = 26
"""Messages of one turn: two of them have an anchor."""


def summarise_conversation(conversation: ConversationHarness) -> None:
    """A visitor writes in bursts."""
    talk = LongConversation(conversation)
    for _ in range(3):
        _burst(talk)
    talk.run_summary_job(SpendRefused("no room"))
    conversation.clock.now += SPEND_CAP_WAIT
    talk.run_summary_job("No JSON.", "No JSON either.")
    conversation.clock.now += FIRST_RETRY_DELAY
    talk.run_summary_job(summary_answer("The policy is PX-48213."))
    for _ in range(2):
        _burst(talk)
    talk.run_summary_job(summary_answer("Nobody names a policy."))
    assert [row[0] for row in talk.versions()] == [1, 2]
    assert talk.key_details()
    _burst(talk)
    talk.run_summary_job(summary_answer("Nobody names one."))
    assert talk.key_details()


def _burst(talk: LongConversation) -> None:
    for number in range(_BURST - 1):
        talk.desk.send_web(talk.visitor, talk.session, f"Tower {number} is tall.")
    talk.ask("My policy is PX-48213.", text_answer("I will look at it on Friday."))
