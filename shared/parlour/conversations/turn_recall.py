"""Recall of older messages and episodes for a turn's question, once when the turn begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from parlour.conversations.conversation_references import refers_to_other_conversation
from parlour.conversations.loaded_turn import LoadedTurn
from parlour.conversations.turn_context import TurnContext
from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Transaction
from parlour.memory.recall import recall as memories
from parlour.memory.recall.store import EpisodeQuery
from parlour.principal import Principal
from parlour.prompts.assembly.compaction import compacted_items
from parlour.prompts.assembly.segment import Item, Source, SourceKind, escape_untrusted
from parlour.prompts.ledger.prompt_builder import PromptBuilder
from parlour.search.index.embedders import Vector, embed_query
from parlour.search.query_expansion import expand_query, select_expansion
from parlour.search.recall import recall_messages
from parlour.search.recalled_messages import render_message


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """The question that recall is asked in a turn.

    query                    the user's words, with the message before them where they refer to it.
    since_turn               the first turn that the prompt has word for word; 0: nothing was cut.
    includes_other_sessions  whether the user's other conversations are searched, too.
    """

    reader: Principal
    query: str
    since_turn: int
    includes_other_sessions: bool

    @property
    def searches_messages(self) -> bool:
        """Whether there are messages to search: some that were cut, or some in other conversations."""
        return self.since_turn > 0 or self.includes_other_sessions


def add_recalled_items(turn_context: TurnContext, loaded_turn: LoadedTurn) -> None:
    """Add older messages and the episodes of earlier conversations to the turn's material.

    Messages are recalled only where the history was cut or the question points to another conversation. A resumed turn
    keeps what its recorded prompts recalled. The question is embedded while no transaction is open.
    Raises LeaseLost when another worker has taken the session since.
    """
    prompting = loaded_turn.prompt_builder
    question = _make_question(
        loaded_turn.principal, prompting.cache_state.compacted_history.since_turn, loaded_turn.recent_user_texts
    )
    if prompting.is_recorded or question is None or not (question.searches_messages or prompting.max_episodes):
        return
    with turn_context.stage_timer.measure("recall"):
        vector = _embed_query(turn_context, question.query)
        items: list[Item] = turn_context.dependencies.database.run(
            question.reader,
            lambda tx: [
                *_recall_messages(tx, turn_context, question, vector, _compacted_text(prompting)),
                *_recall_episodes(tx, turn_context, question, vector, prompting.max_episodes),
            ],
        )
    prompting.add_recalled_items(items)


def _compacted_text(prompt_builder: PromptBuilder) -> str:
    """Return what the prompt already says of the turns that were cut."""
    return "\n".join(item.text for item in compacted_items(prompt_builder.cache_state.compacted_history))


def _make_question(reader: Principal, since: int, recent_user_texts: Sequence[str]) -> RecallQuestion | None:
    """Return the turn's question, None when nothing was asked. `asked`: the user's last messages, two at most, oldest
    first."""
    now = recent_user_texts[-1] if recent_user_texts else ""
    if not now.strip():
        return None
    return RecallQuestion(
        reader,
        expand_query(now, select_expansion(now.strip(), recent_user_texts)),
        since,
        refers_to_other_conversation(now),
    )


def _embed_query(turn_context: TurnContext, query: str) -> Vector | None:
    """Return the question's vector; None when the embedder is away, and the search is by words alone."""
    services, tenant_id = turn_context.dependencies, turn_context.feed.principal.tenant_id
    try:
        return embed_query(services.embedder_of(services.database, tenant_id), query)
    except (ProviderUnavailable, ProviderRejected, Misconfigured) as problem:
        log.warning("recall_without_vector", turn_id=turn_context.turn.id, code=problem.code)
        log.count("EmbeddingUnavailable")
        return None


def _recall_messages(
    tx: Transaction, turn_context: TurnContext, question: RecallQuestion, vector: Vector | None, compacted_text: str
) -> list[Item]:
    """Return the recalled messages as candidates for the prompt, without those that it has word for word."""
    if not question.searches_messages:
        return []
    lease = turn_context.lease
    rows = recall_messages(
        question.reader,
        tx,
        lease.id,
        query=question.query,
        vector=vector,
        before_turn=question.since_turn,
        includes_other_sessions=question.includes_other_sessions,
    )
    return [
        Item(
            SourceKind.OTHER_SESSIONS if row.is_from_other_session else SourceKind.RECALL,
            render_message(row),
            Source("messages", str(row.message_id)) if row.message_id else Source("context_rows", str(row.row_id)),
            score=row.score,
            classification=row.classification,
            title=row.title,
        )
        for row in rows
        if escape_untrusted(" ".join(row.body.split())) not in compacted_text
    ]


def _recall_episodes(
    tx: Transaction, turn_context: TurnContext, question: RecallQuestion, vector: Vector | None, limit: int
) -> list[Item]:
    if not limit:
        return []
    return memories.recall_episodes(
        question.reader,
        tx,
        turn_context.lease.id,
        EpisodeQuery(text=question.query, vector=vector, first_verbatim_turn=question.since_turn, limit=limit),
        now=turn_context.turn.frozen_at,
    )
