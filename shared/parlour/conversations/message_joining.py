"""Messages that join the turn that runs, before its next step: the mode `steer` of a binding's queue."""

from collections.abc import Sequence
from dataclasses import replace

from parlour.conversations import store, turn_openings
from parlour.conversations.journal import CallModel, JoinedMessage, Journal, next_step
from parlour.conversations.rows import InboundMessage
from parlour.conversations.turn_context import TurnContext
from parlour.infra.postgres import Transaction
from parlour.prompts.assembly import user_message
from parlour.tenancy.persona import Binding


def joined_messages(messages: Sequence[InboundMessage]) -> tuple[JoinedMessage, ...]:
    """Return those of a turn's messages that joined it while it ran."""
    return tuple(
        JoinedMessage(one.joined_step, str(one.id), user_message.effective_text(one))
        for one in messages
        if one.joined_step is not None
    )


def join_new_messages(turn_context: TurnContext, journal: Journal, binding: Binding) -> Journal:
    """Let the turn read what its user wrote meanwhile on the same channel, if a step follows and the binding steers.

    While a person is asked about a call, a message may be the answer: it waits for the next turn. So does one with a
    file, and one that comes while the last step is under way or when the turn is to end. All wait where one names a
    person: the next turn opens the inbox.
    """
    is_steered = binding.queue.get("mode") == "steer" and not turn_context.lease.has_open_questions
    if turn_context.stop.cause or not is_steered or not isinstance(next_step(journal), CallModel):
        return journal
    session_id, turn_id, step = turn_context.lease.id, turn_context.turn.id, journal.steps[-1].number
    channel = turn_context.input_messages[-1].channel

    def join(tx: Transaction) -> list[InboundMessage]:
        if turn_openings.names_a_person(store.list_waiting_texts(tx, session_id), binding.inbox):
            return []
        return store.join_messages(tx, session_id, turn_id, channel, step)

    joined: list[InboundMessage] = turn_context.feed.commit(join)
    if not joined:
        return journal
    turn_context.input_messages = (*turn_context.input_messages, *joined)
    turn_context.feed.add_event("messages_joined", {"message_ids": [str(one.id) for one in joined]})
    return replace(journal, joined_messages=(*journal.joined_messages, *joined_messages(joined)))
