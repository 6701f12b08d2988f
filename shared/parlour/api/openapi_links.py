"""The links between operations: where a value of one answer is a parameter of the next request."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """An operation that follows, and where each of its parameters comes from (runtime expressions of OpenAPI)."""

    operation: str
    parameters: Mapping[str, str]


def _links(parameter: str, source: str, *operations: str) -> tuple[Link, ...]:
    """Return links to operations that all take the same value."""
    return tuple(Link(operation, {parameter: source}) for operation in operations)


_SESSION_OPERATIONS = ("get_session", "list_messages", "list_events")
_RECORD_OPERATIONS = ("get_entity_by_id", "list_links_by_id", "get_pulse_by_id", "update_entity_by_id")
_RECORD_CHANGES = (*_RECORD_OPERATIONS, "accept_entity", "refresh_pulse_by_id", "delete_entity_by_id")
_PULSE_OPERATIONS = ("list_pulse_versions_by_id", "compare_pulse_versions_by_id", "explain_pulse_by_id")
_DOCUMENT_OPERATIONS = ("get_document", "update_document", "move_document", "delete_document")
_FILE_OPERATIONS = ("get_file", "get_download", "complete_upload", "start_new_version", "delete_file")
_TURN_OPERATIONS = ("get_turn", "explain_prompt", "rebuild_prompt", "undo_turn")
_USER_OPERATIONS = ("get_user_memory", "set_user_clearance", "sign_user_out", "erase_user")

LINKS: Mapping[str, tuple[Link, ...]] = {
    "open_session": _links("session_id", "$response.body#/session_id", *_SESSION_OPERATIONS, "post_message"),
    "list_sessions": _links("session_id", "$response.body#/sessions/0/id", *_SESSION_OPERATIONS),
    "list_conversations": _links(
        "session_id", "$response.body#/conversations/0/id", "get_conversation", "list_messages"
    ),
    "list_changes": _links("turn_id", "$response.body#/changes/0/turn_id", "list_turn_changes", "undo_turn"),
    "list_approvals": _links("approval_id", "$response.body#/approvals/0/id", "get_approval", "answer_approval"),
    "list_approval_grants": _links("grant_id", "$response.body#/grants/0/id", "revoke_approval_grant"),
    "list_turns": _links("turn_id", "$response.body#/turns/0/id", *_TURN_OPERATIONS),
    "create_entity": _links("record_id", "$response.body#/id", *_RECORD_CHANGES, *_PULSE_OPERATIONS),
    "list_entities": _links("record_id", "$response.body#/entities/0/id", *_RECORD_OPERATIONS, *_PULSE_OPERATIONS),
    "refresh_pulse_by_id": (
        Link(
            "get_pulse_answer_by_id",
            {"record_id": "$request.path.record_id", "question_id": "$response.body#/question_id"},
        ),
    ),
    "create_document": _links("ref", "$response.body#/handle", *_DOCUMENT_OPERATIONS),
    "list_documents": _links("ref", "$response.body#/documents/0/handle", "get_document"),
    "start_upload": _links("file_id", "$response.body#/file/id", *_FILE_OPERATIONS),
    "list_files": _links("file_id", "$response.body#/files/0/id", "get_file", "get_download"),
    "list_users": _links("user_id", "$response.body#/users/0/id", *_USER_OPERATIONS),
    "create_erasure": _links("report_id", "$response.body#/id", "get_erasure"),
    "list_erasures": _links("report_id", "$response.body#/erasures/0/id", "get_erasure"),
    "create_key": _links("key_id", "$response.body#/id", "revoke_key"),
    "list_keys": _links("key_id", "$response.body#/keys/0/id", "revoke_key"),
    "add_member": _links("member_id", "$response.body#/id", "update_member"),
    "list_members": _links("member_id", "$response.body#/members/0/id", "update_member"),
    "start_phone_link": (
        Link(
            "confirm_phone_link",
            {"session_id": "$request.path.session_id", "link_id": "$response.body#/link_id"},
        ),
    ),
    "list_failed_replies": _links("outbox_id", "$response.body#/replies/0/id", "redrive_reply"),
}
