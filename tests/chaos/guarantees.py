"""The promises, checked in the database and at the receivers once everything has come to rest."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlour.channels import outbox
from parlour.channels.whatsapp_format import format_whatsapp
from parlour.notifications import notifications
from parlour.tenancy import roles
from parlour.tools import calls
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant
from tests.chaos.conversations import Conversation
from tests.chaos.scenarios import Effect

_MAX_ITEMS = 10_000

_MESSAGES = """
SELECT m.state, m.kind FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND m.direction = 'inbound'
"""
_TURNS = """
SELECT t.state, t.degraded, (SELECT count(*) FROM messages m WHERE m.turn_id = t.id AND m.direction = 'outbound'),
       (SELECT count(*) FROM steps p WHERE p.turn_id = t.id AND p.completed_at IS NOT NULL),
       (SELECT count(*) FROM steps p WHERE p.turn_id = t.id AND p.completed_at IS NULL)
  FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s ORDER BY t.number
"""
_REPLIES = """
SELECT o.id, o.state, m.body FROM outbox o JOIN messages m ON m.id = o.message_id WHERE o.recipient = %s
"""
_CALLS = """
SELECT c.id, c.name, c.state, c.idempotency_key FROM tool_calls c JOIN turns t ON t.id = c.turn_id
  JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND c.writes
"""
_WORK_DUE = """
SELECT kind, count(*) FROM work_due
 WHERE tenant_id = %s
   AND kind NOT IN ('embedding', 'prompt_retention', 'event_retention', 'visitor_retention', 'pulse', 'extraction',
        'summary', 'consolidation', 'archive')
 GROUP BY kind
"""
"""Nobody embeds in these trials or reads what is to be remembered, so these marks stay; and prompts' records go in a
month. No reply waits for any of them."""

_RESERVED = "SELECT count(*) FROM spend_reservations WHERE tenant_id = %s AND expires_at > now()"

_FACTS = """
SELECT f.key, count(*) FROM facts f JOIN users u ON u.id = f.user_id WHERE u.phone = %s GROUP BY f.key ORDER BY f.key
"""
_FACT_DECISIONS = """
SELECT d.key, count(*) FROM fact_decisions d JOIN users u ON u.id = d.user_id
 WHERE u.phone = %s AND d.decision = 'new' GROUP BY d.key ORDER BY d.key
"""

_SESSIONS = "SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = %s"

ROWS: Mapping[str, str] = {
    "approvals": f"SELECT state FROM approvals WHERE session_id = ({_SESSIONS}) ORDER BY created_at",
    "thread": f"SELECT state, assignee FROM inbox_threads WHERE session_id = ({_SESSIONS})",
    "inbox events": f"""SELECT kind, count(*) FROM inbox_events WHERE session_id = ({_SESSIONS})
                         GROUP BY kind ORDER BY min(number)""",
    "notifications": f"""SELECT event, medium FROM notifications WHERE session_id = ({_SESSIONS})
                          ORDER BY medium, created_at""",
    "authors": f"""SELECT metadata ->> 'author' FROM messages
                    WHERE session_id = ({_SESSIONS}) AND metadata ? 'author' ORDER BY position""",
    "desks": f"""SELECT b.slug FROM turns t JOIN bindings b ON b.id = t.binding_id
                  WHERE t.session_id = ({_SESSIONS}) ORDER BY t.number""",
    "handoffs": f"""SELECT b.slug FROM handoffs h JOIN bindings b ON b.id = h.to_binding_id
                     WHERE h.session_id = ({_SESSIONS})""",
}
"""What a scenario's `expected_rows` are compared with, of one phone's conversation."""

_NOTIFICATIONS = f"SELECT id, medium, state FROM notifications WHERE session_id = ({_SESSIONS})"

_ACCEPTED_STATES = frozenset({"sent", "delivered", "read"})


@dataclass(frozen=True, slots=True)
class ExternalState:
    """What the receivers have, and what an operator is shown.

    phones    texts by number.
    effects   how often the office did what a tool and a signature name.
    shown     ids of the calls, replies and notifications under "Needs attention".
    notified  mails and webhooks by the id of their notification.
    """

    texts_by_phone: Mapping[str, Sequence[str]]
    effect_counts: Mapping[tuple[str, str], int]
    attention_ids: frozenset[str]
    notification_counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one conversation: in a few words, and every promise it breaks."""

    outcome: str
    broken_guarantees: tuple[str, ...]


def read_external_state(world: ChaosEnvironment, desk: ChaosTenant) -> ExternalState:
    """Look at the receivers and at the operator's page."""
    operator = roles.operator_principal(desk.tenant_id)
    with world.database() as database, database.transaction(operator) as tx:
        unknown = [str(call.id) for call in calls.list_unknown(operator, tx, _MAX_ITEMS)]
        stuck = [str(row.id) for row in outbox.list_needing_decision(operator, tx, _MAX_ITEMS)]
        untold = [str(row.id) for row in notifications.list_problems(operator, tx, _MAX_ITEMS)]
    shown = frozenset([*unknown, *stuck, *untold])
    return ExternalState(world.texts_by_phone(), world.effect_counts(), shown, world.notification_counts())


def check_conversation(world: ChaosEnvironment, external_state: ExternalState, conversation: Conversation) -> Verdict:
    """Every promise that one conversation may have broken."""
    notes: list[str] = []
    broken = [
        *conversation.problems,
        *_check_kill_points(conversation),
        *_check_answered(world, conversation),
        *_check_model_calls(world, conversation, notes),
        *_check_effects(world, external_state, conversation, notes),
        *_check_replies(world, external_state, conversation, notes),
        *_check_notifications(world, external_state, conversation, notes),
        *_check_rows(world, conversation),
        *check_facts(world, conversation, ["name"]),
    ]
    if conversation.timed_out_workers:
        notes.append("another worker ran out of time")
    if conversation.is_swept:
        notes.append("woken by the sweep")
    plain = "one reply" if conversation.scenario.turns == 1 else f"{conversation.scenario.turns} turns, one reply each"
    return Verdict(", ".join([plain, *notes]) if not broken else "BROKEN", tuple(broken))


def check_facts(world: ChaosEnvironment, conversation: Conversation, keys: Sequence[str]) -> Iterator[str]:
    """What somebody said of themselves is noted once, and so is why."""
    wanted = [(key, 1) for key in keys]
    for what, query in (("facts", _FACTS), ("decisions", _FACT_DECISIONS)):
        if (found := world.rows(query, conversation.phone_number)) != wanted:
            yield f"of what was said there are the {what} {found} instead of {wanted}"


def check_tenant(world: ChaosEnvironment, desk: ChaosTenant) -> list[str]:
    """The promises that concern a whole tenant: what was left behind, and is not explained."""
    broken = [f"{count} dead letters in {name}" for name, count in world.dead_letters().items()]
    broken += [f"{count} rows of work_due left, kind {kind}" for kind, count in world.rows(_WORK_DUE, desk.tenant_id)]
    reserved = world.value(_RESERVED, desk.tenant_id)
    return [*broken, *([f"{reserved} reservations outlive their lease"] if reserved else [])]


def _check_kill_points(conversation: Conversation) -> Iterator[str]:
    if conversation.kill_points:
        yield f"its worker never came to its end: {', '.join(map(str, conversation.kill_points.values()))}"


def _check_answered(world: ChaosEnvironment, conversation: Conversation) -> Iterator[str]:
    """No message lost, no turn twice, one reply row each."""
    messages = world.rows(_MESSAGES, conversation.phone_number)
    written = [state for state, kind in messages if kind == "text"]
    if written != ["answered"] * conversation.scenario.texts:
        yield f"the message is there {len(written)} times, {written}"
    waiting = [state for state, _ in messages if state not in {"answered", "ignored"}]
    if waiting:
        yield f"messages are left {waiting}"
    turns = world.rows(_TURNS, conversation.phone_number)
    more = len(turns) - conversation.scenario.turns
    if not 0 <= more <= (conversation.scenario.split_turns if conversation.boundary else 0):
        yield f"{len(turns)} turns instead of {conversation.scenario.turns}"
    silent = [turn for turn in turns if turn[:3] == ("answered", False, 0)]
    if len(silent) != conversation.scenario.silent_turns:
        yield f"{len(silent)} turns have no reply"
    stopped = [turn for turn in turns if turn[0] == "stopped"]
    if len(stopped) != conversation.scenario.stopped_turns:
        yield f"{len(stopped)} turns were stopped instead of {conversation.scenario.stopped_turns}"
    for state, degraded, replies, _, _ in turns:
        if state not in {"answered", "stopped"} or degraded or replies > 1:
            yield f"a turn is {state}{', degraded' if degraded else ''}, with {replies} replies"


def _check_model_calls(world: ChaosEnvironment, conversation: Conversation, notes: list[str]) -> Iterator[str]:
    """Every committed step was asked for once; what was answered and not committed when the worker died, again."""
    turns = world.rows(_TURNS, conversation.phone_number)
    steps, open_steps = sum(turn[3] for turn in turns), sum(turn[4] for turn in turns)
    asked = world.model.count_requests(conversation.tag)
    stopped = conversation.scenario.stopped_turns  # where a worker died, the last step of one stays open
    expected = conversation.scenario.steps + len(turns) - conversation.scenario.turns
    if not expected - stopped <= steps <= expected or open_steps > stopped:
        yield f"{steps} steps committed instead of {expected}, {open_steps} left open"
    lost = conversation.uncommitted_answers
    if asked > steps + lost:
        yield f"the model was asked {asked} times for {steps} steps, {lost} of them lost with the worker"
    elif asked > steps:
        notes.append("a step paid again")


def _check_effects(
    world: ChaosEnvironment, seen: ExternalState, conversation: Conversation, notes: list[str]
) -> Iterator[str]:
    rows = world.rows(_CALLS, conversation.phone_number)
    states = {name: (str(call_id), state) for call_id, name, state, _ in rows}
    if len(rows) != len(conversation.scenario.effects):
        yield f"{len(rows)} effects instead of {len(conversation.scenario.effects)}"
    for effect in conversation.scenario.effects:
        done = seen.effect_counts.get((effect.tool, conversation.tag), 0)
        call_id, state = states.get(effect.tool, ("", "missing"))
        if not effect.is_allowed:
            if (done, state) != (0, "failed"):
                yield f"{effect.tool} is {state} and was done {done} times, and nobody agreed to it"
            continue
        yield from _check_effect(effect, done, state, is_shown=call_id in seen.attention_ids)
        if state == "unknown":
            notes.append(f"{effect.tool} unknown and shown ({'done' if done else 'not done'})")


def _check_effect(effect: Effect, done: int, state: str, *, is_shown: bool) -> Iterator[str]:
    if done > 1:
        yield f"{effect.tool} was done {done} times"
    if state == "done" and done != 1:
        yield f"{effect.tool} is done by the books and {done} times at the office"
    if state not in {"done", "unknown"}:
        yield f"{effect.tool} is {state}"
    if state == "unknown" and effect.is_verifiable:
        yield f"{effect.tool} is unknown, though the office can tell"
    if state == "unknown" and not is_shown:
        yield f"{effect.tool} is unknown and nobody is shown it"


def _check_replies(
    world: ChaosEnvironment, seen: ExternalState, conversation: Conversation, notes: list[str]
) -> Iterator[str]:
    replies: list[tuple[Any, ...]] = world.rows(_REPLIES, conversation.phone_number)
    phone = Counter(seen.texts_by_phone.get(conversation.phone_number, ()))
    for reply_id, state, text in replies:
        came = phone.pop("\n".join(format_whatsapp(text, ())), 0)
        if came > 1:
            yield f"a reply reached the phone {came} times"
        if state in _ACCEPTED_STATES and came != 1:
            yield f"a reply is {state} and reached the phone {came} times"
        if state not in {*_ACCEPTED_STATES, "unknown"}:
            yield f"a reply is {state}"
        if state == "unknown":
            notes.append(f"reply unknown and shown ({'arrived' if came else 'not sent'})")
            if str(reply_id) not in seen.attention_ids:
                yield "a reply is unknown and nobody is shown it"
    if phone:
        yield f"the phone has what is in no outbox: {list(phone)}"


def _check_notifications(
    world: ChaosEnvironment, seen: ExternalState, conversation: Conversation, notes: list[str]
) -> Iterator[str]:
    """No mail twice; a webhook that comes again has the same key; one of which nobody knows is shown."""
    for notification_id, medium, state in world.rows(_NOTIFICATIONS, conversation.phone_number):
        came = seen.notification_counts.get(str(notification_id), 0)
        if medium == "email" and came > 1:
            yield f"a mail came {came} times"
        if state == "sent" and not came:
            yield f"the {medium} is sent and never came"
        if state == "unknown":
            notes.append(f"{medium} unknown and shown ({'arrived' if came else 'not sent'})")
            if str(notification_id) not in seen.attention_ids:
                yield f"the {medium} is unknown and nobody is shown it"
        elif state != "sent":
            yield f"the {medium} is {state}"


def _check_rows(world: ChaosEnvironment, conversation: Conversation) -> Iterator[str]:
    for name, expected in conversation.scenario.expected_rows.items():
        if (found := world.rows(ROWS[name], conversation.phone_number)) != expected:
            yield f"{name}: {found} instead of {expected}"
