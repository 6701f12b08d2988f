"""The highest classification that a conversation has shown: the lower bound for every record written in it.

The sources that a model names do not lower it: a text written with a confidential document in the prompt may repeat
the document.
"""

from parlour.conversations import store
from parlour.conversations.loaded_turn import LoadedTurn
from parlour.conversations.turn_context import TurnContext
from parlour.infra.postgres import Transaction
from parlour.principal import PUBLIC
from parlour.prompts.ledger import source_status


def read_shown_level(running: TurnContext, loaded: LoadedTurn) -> int:
    """Return the level, at most the clearance of the user; public at once for a user with the lowest clearance."""
    clearance = loaded.principal.clearance
    if clearance == PUBLIC or running.prompt_builder is None:
        return PUBLIC
    materials = running.prompt_builder.materials
    cached = running.prompt_builder.cache_state.cached_briefing
    items = [*materials.briefing_candidates, *materials.tail_candidates, *materials.attachments]
    sources = {one for item in items for one in (item.source, *item.further_sources)}
    sources |= set(cached.sources) if cached else set()

    def read(tx: Transaction) -> int:
        earlier = store.read_shown_level(tx, running.lease.id, running.turn.id)
        return max(earlier, source_status.find_highest_level(tx, running.lease.id, sources))

    level: int = running.dependencies.database.run(running.feed.principal, read)
    return min(level, clearance)
