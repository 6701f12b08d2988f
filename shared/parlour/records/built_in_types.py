"""The kinds of record that every tenant has without saying so. Pure.

A pack that defines a kind of the same key otherwise has its own instead. The objects are written as a type's row has
them (defaults left out), so that a kind which was taken into use and exported applies again without a change.
"""

from parlour.infra.json_values import Json, JsonObject
from parlour.records.record_type import RecordType

_DONE = "done"

FINDING_TYPE, CONVERSATION_TYPE = "finding", "conversation"
CLOSED_CONVERSATION_STATES = ["closed", "archived"]
"""The states of a conversation that is over: what becomes of it is no news."""


def _text(required: bool = False) -> JsonObject:
    return {"type": "text", "required": True} if required else {"type": "text"}


def _date(label: str = "") -> JsonObject:
    return {"type": "date", "label": label} if label else {"type": "date"}


def _choice(*choices: Json) -> JsonObject:
    return {"type": "choice", "choices": [*choices]}


def _record_type(key: str, properties: JsonObject, rag: JsonObject) -> RecordType:
    return RecordType(key, key.capitalize(), {"description": _text(), **properties}, rag)


_LEVELS = _choice("low", "medium", "high", "critical")
_PROGRESS = _choice("planned", "active", "blocked", _DONE, "cancelled")

BUILT_IN_TYPES = {
    kind.key: kind
    for kind in (
        _record_type(
            "project",
            {"state": _PROGRESS, "start": _date(), "due": _date()},
            {
                "children": "auto",
                "pulse": "auto",
                "status_properties": ["state"],
                "icon": "folder",
                "colour": "blue",
            },
        ),
        _record_type(
            "document",
            {"state": _choice("draft", "review", "published", "archived", "scratch")},
            {"icon": "file", "colour": "grey"},
        ),
        _record_type(
            "task",
            {
                "state": _choice("open", "in progress", "blocked", _DONE, "cancelled"),
                "priority": _LEVELS,
                "due": _date(),
                "owner": _text(),
            },
            {"status_properties": ["state"], "icon": "check", "colour": "green"},
        ),
        _record_type(
            "goal",
            {"state": _PROGRESS, "due": _date(), "measure": _text(), "target": _text()},
            {"children": "auto", "pulse": "auto", "status_properties": ["state"], "icon": "target", "colour": "violet"},
        ),
        _record_type(
            "plan",
            {"state": _PROGRESS, "start": _date(), "due": _date()},
            {"children": "auto", "pulse": "auto", "status_properties": ["state"], "icon": "list", "colour": "teal"},
        ),
        _record_type(
            "milestone",
            {"state": _choice("open", "reached", "missed"), "due": _date()},
            {"children": "auto", "status_properties": ["state"], "icon": "flag", "colour": "amber"},
        ),
        _record_type(
            "risk",
            {
                "severity": _LEVELS,
                "state": _choice("open", "watched", "closed"),
                "likelihood": _choice("unlikely", "possible", "likely"),
                "owner": _text(),
                "response": _text(),
                "due": _date(),
            },
            {
                "pulse": "auto",
                "pulse_prompt": "What the risk is, where it comes from, what is being done, what to do next.",
                "status_properties": ["state", "severity"],
                "icon": "warning",
                "colour": "red",
            },
        ),
        _record_type(
            "requirement",
            {
                "state": _choice("proposed", "agreed", "met", "dropped"),
                "priority": _choice("must", "should", "could"),
                "acceptance": _text(),
            },
            {"status_properties": ["state"], "icon": "ruler", "colour": "indigo"},
        ),
        _record_type(
            "output",
            {"state": _choice("planned", "draft", "delivered", "accepted"), "due": _date(), "format": _text()},
            {"status_properties": ["state"], "icon": "box", "colour": "brown"},
        ),
        _record_type(
            FINDING_TYPE,
            {
                "kind": _text(),
                "severity": _LEVELS,
                "status": _choice("open", "confirmed", "resolved", "dismissed"),
                "recommendation": _text(),
            },
            {"status_properties": ["status", "severity"], "icon": "search", "colour": "orange"},
        ),
        _record_type(
            "contract",
            {
                "counterparty": _text(),
                "subject": _text(),
                "signed": _date(),
                "ends": _date(),
                "amount": {"type": "number"},
                "currency": _text(),
                "state": _choice("draft", "in force", "ended"),
            },
            {"children": "auto", "pulse": "auto", "status_properties": ["state"], "icon": "scroll", "colour": "navy"},
        ),
        _record_type(
            CONVERSATION_TYPE,
            {"participants": _text(), "state": _choice("open", "closed")},
            {"children": "auto", "icon": "chat", "colour": "cyan"},
        ),
    )
}
"""By key. `state` (a finding's: `status`) says how far a record is, and `due` when it should be."""
