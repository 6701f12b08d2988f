"""Whom an event is told, and what a mail says."""

from dataclasses import replace
from typing import get_args
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.notifications.event import (
    InboxEvent,
    InboxEventKind,
    MemberAddress,
    NotificationSettings,
    Recipient,
    console_link,
    list_recipients,
    write_email,
)

ASHA = MemberAddress(UUID(int=1), "asha@example.com", ["editor"])
INES = MemberAddress(UUID(int=2), "ines@example.com", ["viewer"])
SESSION = UUID(int=9)
SETTINGS = NotificationSettings.from_json(
    {
        "email": ["desk@example.com", "ASHA@example.com"],
        "roles": ["editor"],
        "webhook": {"url": "https://hooks.example.com/in", "secret": "hook"},
        "events": ["opened", "said"],
    }
)
HOOK = Recipient("webhook", "https://hooks.example.com/in", "hook")


def test_an_unassigned_conversation_tells_addresses_and_roles_each_once() -> None:
    event = InboxEvent(UUID(int=5), "opened", SESSION)

    assert list_recipients(SETTINGS, event, [ASHA, INES]) == [
        Recipient("email", "desk@example.com"),
        Recipient("email", "ASHA@example.com"),
        HOOK,
    ]


def test_an_assigned_conversation_tells_its_assignee_alone() -> None:
    event = InboxEvent(UUID(int=5), "taken", SESSION, assignee_id=INES.id)

    assert list_recipients(SETTINGS, event, [ASHA, INES]) == [Recipient("email", "ines@example.com")]


def test_what_is_said_is_for_webhooks_only() -> None:
    by_person = InboxEvent(UUID(int=5), "said", SESSION, is_by_person=True)
    assert list_recipients(SETTINGS, by_person, [ASHA, INES]) == [HOOK]
    assert list_recipients(SETTINGS, InboxEvent(UUID(int=5), "said", SESSION), [ASHA, INES]) == []


@pytest.mark.parametrize("kind", ["breached", "escalated"])
def test_who_is_told_of_a_conversation_is_told_that_it_still_waits(kind: InboxEventKind) -> None:
    event = InboxEvent(UUID(int=5), kind, SESSION)

    assert list_recipients(SETTINGS, event, [ASHA])[-1] == HOOK
    assert list_recipients(replace(SETTINGS, events=("taken",)), event, [ASHA]) == []


def test_chatwoot_gets_every_event_whatever_the_binding_lists() -> None:
    chatwoot: JsonObject = {"url": "https://chat.example.com/", "account": 3, "inbox": 7, "token": "chatwoot_token"}
    settings = NotificationSettings.from_json({"chatwoot": chatwoot, "events": ["opened"]})
    inbox = Recipient("chatwoot", "https://chat.example.com/api/v1/accounts/3/inboxes/7", "chatwoot_token")

    for kind in get_args(InboxEventKind.__value__):
        assert list_recipients(settings, InboxEvent(UUID(int=5), kind, SESSION), [ASHA]) == [inbox]


def test_events_that_a_binding_does_not_list_tell_nobody() -> None:
    assert list_recipients(SETTINGS, InboxEvent(UUID(int=5), "closed", SESSION), [ASHA]) == []
    assert NotificationSettings.from_json({}).events == ("opened",)


def test_a_mail_links_to_the_conversation_and_keeps_its_header_on_one_line() -> None:
    mail = write_email(
        "opened", "Site\r\nBcc: x@example.com", "The user asked.", console_link("https://p.test/", SESSION)
    )

    assert mail.subject == "A conversation with Site Bcc: x@example.com waits for a person"
    assert f"https://p.test/console/#/inbox/{SESSION}" in mail.body
    assert "Why: The user asked." in mail.body
