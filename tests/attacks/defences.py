"""The defences, and how each is switched off: what shows that an attack would get through without it."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import Any
from unittest.mock import patch
from uuid import UUID

import psycopg

from parlour.api import authorization
from parlour.api.routes import embedded_chat
from parlour.approvals import approvals, grants, policy, question
from parlour.conversations import outgoing_links, reply, tool_execution, untrusted_text
from parlour.conversations import store as conversation_store
from parlour.conversations.linking import link_codes
from parlour.conversations.rows import Lease, WritableSession
from parlour.infra.postgres import Transaction
from parlour.memory.facts import own_text
from parlour.models import spend
from parlour.notifications import chatwoot_note, delivery_job
from parlour.principal import RESTRICTED
from parlour.pulse.due import budget
from parlour.pulse.due.scheduling_rules import PulseBudget
from parlour.pulse.reading import store as pulse_store
from parlour.pulse.writing import statement_check
from parlour.records import crud, record_links
from parlour.tenancy import access, authentication, open_streams, rate_limits, roles, routing_keys, users
from parlour.tenancy import store as tenancy_store
from parlour.tenancy.limits import Limits
from parlour.tools import effects
from tests.conversation_harness import ConversationHarness

type SwitchOff = Callable[[ConversationHarness, ExitStack], object]


def _open_doors(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(access, "is_owner", lambda *_: True))


def _accept_every_token(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(authentication, "_is_own_token", lambda *_: True))


def _give_phones_every_role(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(users, "get_phone_roles", lambda _: frozenset({"viewer", "editor"})))


def _let_everybody_write(_desk: ConversationHarness, stack: ExitStack) -> None:
    for module in (crud, record_links):
        stack.enter_context(patch.object(module, "require_change_rights", lambda *_: None))
    stack.enter_context(patch.object(crud, "require_creation_rights", lambda *_: None))
    stack.enter_context(patch.object(effects, "has_write_rights", lambda *_: True))


def _show_unverified(desk: ConversationHarness, _stack: ExitStack) -> None:
    desk.run_as_owner("CREATE OR REPLACE FUNCTION current_reader() RETURNS text LANGUAGE sql STABLE RETURN NULL::text")


def _trust_every_tool(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(untrusted_text, "_reached_tool", lambda _result: False))
    stack.enter_context(patch.object(untrusted_text, "WRITTEN_BY_OTHERS", ""))


def _forget_levels(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(tool_execution, "read_shown_level", lambda *_: 0))


def _take_everything(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(rate_limits, "take", lambda *_: 0))


def _take_from_every_bucket(_desk: ConversationHarness, stack: ExitStack) -> None:
    take = rate_limits.take
    stack.enter_context(
        patch.object(rate_limits, "take", lambda tx, limits, now: max(take(tx, [limit], now) for limit in limits))
    )


def _give_addresses_all(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(spend, "ADDRESS_PART", Decimal(1)))


def _follow_without_end(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(open_streams, "MAX_VISITOR_STREAMS", 100))
    stack.enter_context(patch.object(Limits, "address_streams", 100))


def _keep_unused_sessions(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(users, "MAX_UNUSED_SESSIONS", 1_000))


def _read_all_blank_lines(_desk: ConversationHarness, stack: ExitStack) -> None:
    slow = own_text._FORWARDED_TEXT.pattern.replace(r"^[^\S\n]*+", r"^\s*").replace(r"\[?[^\S\n]*", r"\[?\s*")
    stack.enter_context(patch.object(own_text, "rule_text", str))
    stack.enter_context(patch.object(own_text, "_FORWARDED_TEXT", re.compile(slow, own_text._FORWARDED_TEXT.flags)))


def _count_leases_only(_desk: ConversationHarness, stack: ExitStack) -> None:
    acquire = conversation_store.acquire_lease

    def acquire_without_deadline(tx: Transaction, *fields: Any) -> Lease | None:
        return acquire(tx, *fields[:4])

    stack.enter_context(patch.object(conversation_store, "acquire_lease", acquire_without_deadline))


def _send_any_address_codes(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(link_codes, "MAX_ADDRESS_CODES_PER_HOUR", 1_000))


def _mail_one_by_one(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(delivery_job, "WAITING_EVENTS", frozenset()))


def _share_the_cap(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(Limits, "anonymous_part", None))


def _keep_tokens(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(tenancy_store, "raise_token_epoch", lambda *_: True))


def _keep_links(_desk: ConversationHarness, stack: ExitStack) -> None:
    def unfiltered(text: str, _hosts: object) -> outgoing_links.FilteredReply:
        return outgoing_links.FilteredReply(text, 0)

    stack.enter_context(patch.object(reply, "filter_links", unfiltered))
    stack.enter_context(patch.object(outgoing_links, "filter_links", unfiltered))


def _embed_anywhere(_desk: ConversationHarness, stack: ExitStack) -> None:
    origins = ("https://evil.example", "https://www.northbank.example")
    stack.enter_context(patch.object(embedded_chat, "list_embed_origins", lambda _channels: origins))


def _share_sessions(_desk: ConversationHarness, stack: ExitStack) -> None:
    find_own = conversation_store.find_own_session

    def find_anybodys(tx: Transaction, session_id: UUID, _user_id: UUID) -> WritableSession | None:
        found = tenancy_store.find_session(tx, session_id)
        return find_own(tx, session_id, found.user_id) if found else None

    stack.enter_context(patch.object(users, "_can_read", lambda *_: True))
    stack.enter_context(patch.object(conversation_store, "find_own_session", find_anybodys))


def _quote_as_it_is(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(chatwoot_note, "escape_markdown", lambda text: text))


def _let_keys_grant(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(roles, "require_person", lambda _principal: None))


def _believe_every_claim(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(routing_keys, "_is_accepted", lambda *_: True))
    stack.enter_context(patch.object(routing_keys, "_find_other_holder", lambda *_: None))
    stack.enter_context(patch.object(routing_keys, "require_claimable", lambda *_: None))


def _count_every_grant(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(grants, "_could_approve", lambda *_: True))


def _ask_as_it_is(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(question, "escape_markdown", lambda text: text))


def _let_users_edit(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(approvals, "_is_editable", lambda *_: True))


def _show_every_question(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(approvals, "_can_see", lambda *_: True))


def _skip_role_checks(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(authorization, "_require_role", lambda *_: None))


def _skip_direct_questions(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(policy, "asks_first", lambda *_: False))


def _accept_statements(_desk: ConversationHarness, stack: ExitStack) -> None:
    stack.enter_context(patch.object(statement_check, "clean_statement", lambda text: text))
    stack.enter_context(patch.object(statement_check, "_has_unsupported_number", lambda *_: False))


def _read_every_pulse(_desk: ConversationHarness, stack: ExitStack) -> None:
    find = pulse_store.find_pulse_view
    stack.enter_context(
        patch.object(pulse_store, "find_pulse_view", lambda tx, record_id, _level: find(tx, record_id, RESTRICTED))
    )


def _spend_without_end(_desk: ConversationHarness, stack: ExitStack) -> None:
    def read(*_: object) -> PulseBudget:
        return PulseBudget(Decimal(1_000), Decimal(), Decimal())

    stack.enter_context(patch.object(budget, "read_budget", read))


DEFENCES: Mapping[str, SwitchOff] = {
    "doors": _open_doors,
    "member-sign-in": _accept_every_token,
    "phone-roles": _give_phones_every_role,
    "write-rights": _let_everybody_write,
    "unverified": _show_unverified,
    "untrusted-text": _trust_every_tool,
    "levels": _forget_levels,
    "rate-limits": _take_everything,
    "narrow-limits": _take_from_every_bucket,
    "address-part": _give_addresses_all,
    "narrow-codes": _send_any_address_codes,
    "joined-mails": _mail_one_by_one,
    "open-streams": _follow_without_end,
    "unused-sessions": _keep_unused_sessions,
    "linear-rules": _read_all_blank_lines,
    "worker-deadlines": _count_leases_only,
    "anonymous-share": _share_the_cap,
    "token-epoch": _keep_tokens,
    "links": _keep_links,
    "embed-hosts": _embed_anywhere,
    "own-session": _share_sessions,
    "quoted-notes": _quote_as_it_is,
    "tool-grants": _count_every_grant,
    "exact-questions": _ask_as_it_is,
    "exact-arguments": _let_users_edit,
    "question-levels": _show_every_question,
    "grants": _let_keys_grant,
    "route-claims": _believe_every_claim,
    "tool-callers": _skip_role_checks,
    "direct-questions": _skip_direct_questions,
    "pulse-statements": _accept_statements,
    "pulse-levels": _read_every_pulse,
    "pulse-budget": _spend_without_end,
}
"""By the name that `--without` knows them by."""


def run_committed(owner: psycopg.Connection[Any], statement: str) -> None:
    """Change the schema for every connection."""
    owner.execute(statement.encode())
    owner.commit()


@contextmanager
def without(defence: str, desk: ConversationHarness) -> Iterator[None]:
    """Switch a defence off, if one is named, for as long as the block lasts."""
    with ExitStack() as stack:
        if defence:
            DEFENCES[defence](desk, stack)
        yield
