"""The line that tells somebody on messaging that a turn takes longer than usual (docs/decisions/0064)."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid5

from parlour.channels import outbox
from parlour.channels.outgoing_message import DEFAULT_INTERIM_SECONDS
from parlour.conversations import store
from parlour.conversations.turn_context import TurnContext
from parlour.infra import log
from parlour.infra.postgres import Database, Transaction


@dataclass(slots=True)
class InterimLine:
    """The line of one turn, which is sent once. Called from the thread that renews the turn's lease."""

    turn_context: TurnContext
    is_done: bool = False

    def send_if_due(self, database: Database) -> None:
        """Send the line, if the turn has run for long enough and nobody wants it to end. Raises RetryError."""
        running = self.turn_context
        received, now = running.newest_received, running.dependencies.clock()
        if self.is_done or received is None:
            return
        seconds = (received.channel_settings or {}).get("interim_seconds", DEFAULT_INTERIM_SECONDS)
        if not isinstance(seconds, int) or not seconds or now - running.turn.frozen_at < timedelta(seconds=seconds):
            return
        principal, lease, turn_id = running.feed.principal, running.lease, running.turn.id
        last_input = running.input_messages[-1]
        notice_id, outbox_id = uuid5(turn_id, "interim"), uuid5(turn_id, "interim_delivery")

        def enqueue(tx: Transaction) -> bool:
            # The lease is ours until the transaction that commits the reply, which waits for this one.
            if not store.renew_lease(tx, lease, lease.expires_at) or store.find_stop_cause(tx, turn_id):
                return False
            if last_input.reply_address is None:
                return False
            store.insert_notice(
                tx,
                message_id=notice_id,
                session_id=lease.id,
                binding_id=lease.binding_id,
                channel=last_input.channel,
                body=running.canned_texts.find("still_working"),
                now=now,
                interim_turn_id=turn_id,
            )
            delivery = outbox.NewDelivery(
                outbox_id, lease.id, notice_id, lease.binding_id, last_input.channel, last_input.reply_address
            )
            outbox.enqueue(tx, delivery, now)
            return True

        if database.run(principal, enqueue):
            outbox.send_wakeup(running.dependencies.outbox_queue, principal.tenant_id, lease.id, outbox_id)
            log.info("interim_line_sent", tenant_id=principal.tenant_id, turn_id=turn_id)
        self.is_done = True
