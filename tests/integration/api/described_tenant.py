"""The example tenant with something of everything, so that the ids in the API's paths lead somewhere."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from fastapi.testclient import TestClient

from local.example_tenant import PACK_FOLDER, TENANT_SLUG
from parlour.conversations import inbox_messages
from parlour.inbox import threads
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import UploadForm
from parlour.notifications.chatwoot_webhook import ChatwootSource, make_webhook_path
from parlour.notifications.event import chatwoot_address
from parlour.packs import folder
from parlour.tools import callbacks
from parlour.tools.callbacks import Callback
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import TOKEN_SECRET, FakeQueues, operator_headers, sample_pack_files
from tests.integration.day_pulse_reading import read_pulses
from tests.integration.web_conversation import WebConversation

_PROPERTIES: JsonObject = {"owner": "Sunil Rawat", "state": "waiting"}

#: Each has a conversation of its own, because most of them move it.
_INBOX_OPERATIONS = (
    *("get_inbox_context", "get_inbox_conversation", "list_inbox_events", "add_inbox_note"),
    *(f"{move}_inbox_conversation" for move in ("open", "take", "assign", "release", "snooze", "close", "hand_back")),
)

type Examples = Mapping[str, Any]
"""Values of parameters: by the parameter's name, or by the operation's and the parameter's."""


class DescribedTenant:
    """What is asked about, and the credentials to ask with."""

    def __init__(
        self, conversation: ConversationHarness, client: TestClient, queues: FakeQueues, now: datetime
    ) -> None:
        self._conversation, self._client, self._queues, self._now = conversation, client, queues, now
        self.headers = operator_headers(TENANT_SLUG)
        self._web = WebConversation(conversation)
        self._session = self._open_session()
        visitor = _bearer(self._session["visitor_token"])
        self.headers_of = {
            **dict.fromkeys(("post_message", "start_attachment", "update_session", "get_own_memory"), visitor),
            **dict.fromkeys(("start_phone_link", "confirm_phone_link"), visitor),
            "sign_out_everywhere": _bearer(self._open_session()["visitor_token"]),
            "undo_pack": self._apply_other_pack(),
        }

    def prepare(self) -> tuple[Examples, Examples]:
        """Add something of everything; return values of parameters, and bodies by the operation's name."""
        message = self._web.say("When does the crane come?", search_call("crane"), text_answer("On Friday [1]."))
        self._web.say(
            "Write that down.",
            tool_call("create_entity", kind="task", name="Crane", properties=_PROPERTIES),
            text_answer("Done."),
        )
        read_pulses(self._conversation)
        turn, older = self._get("/v1/turns")["turns"]
        authored = self._post("/v1/documents", title="Notes", content="One.", project="project/NRS")
        values = {
            **self._record_values(),
            **self._attention_values(),
            **self._file_values(),
            **self._approval_values(),
            **self._chatwoot_values(),
            **{f"{name}.session_id": self._open_in_inbox() for name in _INBOX_OPERATIONS},
            "say_in_inbox_conversation.session_id": self._open_in_inbox(is_taken=True),
            "session_id": self._session["session_id"],
            "stop_turn.session_id": str(self._web.session),
            "turn_id": turn["id"],
            "with": older["id"],
            "hash": self._text_hashes(turn["id"]),
            "user_id": str(self._web.user),
            "sign_user_out.user_id": self._other_user(),
            "message_id": str(message),
            "fact_id": str(self._web.add_fact("Pune", message)),
            "erase_fact.fact_id": str(self._web.add_fact("Goa", message, key="trip")),
            "ref": authored["handle"],
            "delete_document.ref": self._post("/v1/documents", title="Old notes", project="project/NRS")["handle"],
            "list_project_documents.ref": "project/NRS",
            "key_id": self._post("/v1/keys", name="Nightly export")["id"],
            "member_id": self._post("/v1/members", issuer="https://i.example", subject="1", display_name="Ida")["id"],
            "report_id": self._post("/v1/erasures", kind="user", id=self._other_user())["id"],
        }
        editor = self._post(
            "/v1/members", issuer="https://i.example", subject="2", display_name="Asha", roles=["viewer", "editor"]
        )
        bodies = {
            "assign_inbox_conversation": {"member_id": editor["id"]},
            "apply_pack": {"files": folder.read_folder(PACK_FOLDER)},
            "create_erasure": {"kind": "user", "id": str(self._web.user), "dry_run": True},
            "start_reembedding": {"model": "other"},
        }
        return values, bodies

    def _open_in_inbox(self, *, is_taken: bool = False) -> str:
        """Return a new session that waits for a person, or that the operator has."""
        conversation, admin = self._conversation, self._conversation.admin
        session_id, now = conversation.find_session(conversation.create_visitor()), conversation.clock()
        conversation.database.run(
            admin, lambda tx: inbox_messages.open_thread(admin, tx, session_id, "member", "They called.", now)
        )
        if is_taken:
            conversation.database.run(admin, lambda tx: threads.take(admin, tx, session_id, now))
        return str(session_id)

    def _record_values(self) -> Examples:
        conversation = self._conversation
        reported = self._post("/v1/entities", type="task", name="A crack at C5", properties=_PROPERTIES)["id"]
        conversation.query(
            f"UPDATE entities SET unverified_by = '{self._web.user}' WHERE id = '{reported}' RETURNING 1"
        )
        by_id = {name: str(self._get(f"/v1/entities/{name}")["id"]) for name in ("project/NRS", "task/T-118")}
        asked = self._post("/v1/entities/project/NRS/pulse/refresh", question="What is late?")
        return {
            "record_id": by_id["project/NRS"],
            "delete_entity_by_id.record_id": by_id["task/T-118"],
            "accept_entity.record_id": reported,
            "question_id": asked["question_id"],
        }

    def _attention_values(self) -> Examples:
        conversation = self._conversation
        items = AttentionItems(conversation.database, conversation.tenant_id, self._web.session, self._now)
        late = items.add_tool_call("running", heavy=True)
        items.query(f"UPDATE tool_calls SET code = 'accepted', run_token = 1 WHERE id = '{late}' RETURNING 1")
        callback, until = Callback(conversation.tenant_id, late, 1), self._now + timedelta(hours=1)
        address = callbacks.make_callback_url("", callback, TOKEN_SECRET, until, self._now)
        return {
            "token": address.rpartition("/")[2],
            "resolve_tool_call.call_id": str(items.add_tool_call()),
            "cancel_tool_call.call_id": str(items.add_tool_call("running", heavy=True)),
            "resolve_reply.outbox_id": str(items.add_reply()),
            "redrive_reply.outbox_id": str(items.add_reply("failed")),
            "resolve_notification.notification_id": str(items.add_notification()),
            "resolve_turn.turn_id": str(items.add_failed_turn()),
        }

    def _approval_values(self) -> Examples:
        """A question to the team's editors, and a permission."""
        conversation, harness = self._conversation, ApprovalHarness(self._conversation)
        harness.add_tool(approver="editor")
        approval, grant_id = harness.ask_web(conversation.create_visitor()), uuid7(self._now)
        conversation.query(
            "INSERT INTO approval_grants (tenant_id, id, user_id, binding_id, tool, granted_by, created_at, expires_at)"
            f" SELECT current_tenant(), '{grant_id}', '{approval.user_id}', '{approval.binding_id}', 'page', 'Asha',"
            " now(), now() + interval '1 year' RETURNING 1"
        )
        return {"approval_id": str(approval.id), "grant_id": str(grant_id)}

    def _chatwoot_values(self) -> Examples:
        """Bindings with inboxes in Chatwoot: one with the address of its webhooks, one whose address is rotated."""
        settings: JsonObject = {"url": "https://chat.example", "account": 3, "inbox": 7, "token": "chatwoot_token"}
        for slug, inbox in (("site-desk", settings), ("contract-desk", {**settings, "inbox": 8})):
            changed = json.dumps({"chatwoot": inbox})
            self._conversation.query(
                f"UPDATE bindings SET notifications = '{changed}' WHERE slug = '{slug}' RETURNING 1"
            )
        source = ChatwootSource(
            self._conversation.tenant_id, chatwoot_address(settings), uuid7(self._conversation.clock())
        )
        self._conversation.query(
            "INSERT INTO chatwoot_addresses (tenant_id, inbox, address_id) VALUES (current_tenant(),"
            f" '{source.inbox}', '{source.address_id}') RETURNING 1"
        )
        return {
            "get_chatwoot_webhook.binding": "site-desk",
            "rotate_chatwoot_webhook.binding": "contract-desk",
            "post_chatwoot_webhook.token": make_webhook_path(source, TOKEN_SECRET).rpartition("/")[2],
        }

    def _file_values(self) -> Examples:
        started = [self._post("/v1/files", name=f"{number}.txt", size_bytes=3) for number in range(2)]
        for one in started:
            self._queues.bucket.post(UploadForm(one["upload"]["url"], one["upload"]["fields"]), b"One")
        return {"file_id": started[0]["file"]["id"], "delete_file.file_id": started[1]["file"]["id"]}

    def _text_hashes(self, turn_id: str) -> list[str]:
        explained = self._get(f"/v1/turns/{turn_id}/prompt")
        return [_find_hash(explained)]

    def _other_user(self) -> str:
        return str(WebConversation(self._conversation).user)

    def _open_session(self) -> dict[str, Any]:
        answer = self._client.post("/v1/sessions", json={"tenant": TENANT_SLUG, "binding": "site-desk"})
        opened: dict[str, Any] = answer.json()
        return opened

    def _apply_other_pack(self) -> dict[str, str]:
        """Return the credentials for a tenant whose only apply may be undone."""
        headers = operator_headers("undone")
        pack = {"files": sample_pack_files("undone", "undone.example")}
        assert self._client.put("/v1/pack", json=pack, headers=headers).status_code == 200
        return headers

    def _get(self, path: str) -> Any:
        answer = self._client.get(path, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def _post(self, path: str, **body: object) -> Any:
        answer = self._client.post(path, json=body, headers=self.headers)
        assert 200 <= answer.status_code < 300, answer.text
        return answer.json()


def fill_examples(document: dict[str, Any], values: Examples, bodies: Examples) -> None:
    """Put values that this tenant has into the description's examples."""
    for item in document["paths"].values():
        for operation in item.values():
            name = operation["operationId"]
            for parameter in operation.get("parameters", ()):
                key = parameter["name"]
                known = values.get(f"{name}.{key}", values.get(key))
                if known is not None:
                    parameter["example"] = known
            if name in bodies:
                operation["requestBody"]["content"]["application/json"]["example"] = bodies[name]


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Parlour-Tenant": TENANT_SLUG}


def _find_hash(value: Any) -> str:
    """Return the first hash of a text in an explained prompt."""
    if isinstance(value, dict):
        found = (value[name] for name in ("hash", "text_hash") if isinstance(value.get(name), str))
        return next(found, "") or next(filter(None, map(_find_hash, value.values())), "")
    return next(filter(None, map(_find_hash, value)), "") if isinstance(value, list) else ""
