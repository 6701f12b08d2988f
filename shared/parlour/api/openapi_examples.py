"""Examples of the API's description: a body for each request, and values of parameters. They fit the example tenant."""

from collections.abc import Mapping

from parlour.infra.json_values import Json

BODY_EXAMPLES: Mapping[str, Json] = {
    "open_session": {"tenant": "northbank", "binding": "site-desk"},
    "update_session": {"title": "The crane on Friday", "pinned": True},
    "start_attachment": {"name": "crack-c4.jpg", "size_bytes": 482133},
    "post_message": {"text": "When does the crane come?", "client_message_id": "m-1"},
    "start_phone_link": {"phone": "+447700900123", "consent": True},
    "confirm_phone_link": {"code": "482913"},
    "post_tool_result": {"number": "REP-101", "summary": "3 requests for information are open."},
    "resolve_tool_call": {"resolution": "done"},
    "resolve_reply": {"resolution": "send_again"},
    "resolve_turn": {"resolution": "redrive"},
    "create_entity": {
        "type": "task",
        "name": "Check the anchors of the scaffold",
        "project": "project/NRS",
        "properties": {"description": "Before the storm on Friday"},
    },
    "update_entity": {"name": "Check the anchors of the scaffold again"},
    "update_entity_by_id": {"name": "Check the anchors of the scaffold again"},
    "create_link": {"source": "task/T-112", "target": "risk/R-03", "relation": "part_of"},
    "create_document": {
        "title": "Minutes of 12 March",
        "content": "The pour is on 14 March.",
        "project": "project/NRS",
    },
    "update_document": {"content": "The pour is on 15 March.", "state": "final"},
    "move_document": {"position": 0},
    "start_upload": {"name": "survey.pdf", "size_bytes": 20480, "about": "project/NRS"},
    "start_new_version": {"name": "survey.pdf", "size_bytes": 24576},
    "complete_upload": {"version": 1},
    "create_erasure": {"kind": "user", "id": "019a3c5e-7b10-7c2e-9b1f-2f6a4d1c8e00", "dry_run": True},
    "set_shared_fact": {"scope": "team", "slug": "site-operations", "key": "site.gate", "value": "Gate 2 is closed"},
    "update_fact": {"value": "prefers short answers"},
    "refresh_pulse": {"question": "What threatens the pour?"},
    "refresh_pulse_by_id": {"question": "What threatens the pour?"},
    "set_pulse_cap": {"pulse_daily_cap_usd": "1.50"},
    "set_daily_cap": {"daily_cap_usd": "12.50"},
    "apply_pack": {"files": {"tenant.yaml": "slug: northbank\ndisplay_name: Northbank\n"}},
    "set_tenant_status": {"status": "active"},
    "create_key": {"name": "Nightly export", "roles": ["viewer"], "clearance": 1, "scopes": ["turns", "costs"]},
    "add_member": {
        "issuer": "https://login.example.com",
        "subject": "auth0|5f7c8ec7c33c6c004bbafe82",
        "display_name": "Ines Duarte",
        "roles": ["editor"],
        "clearance": 2,
    },
    "update_member": {"roles": ["viewer"], "clearance": 1, "active": True},
    "set_user_clearance": {"clearance": 1},
    "redrive_dead_letters": {"queue": "outbox", "limit": 100},
    "start_reembedding": {"model": "minilm"},
}

#: By the parameter's name, or by the operation's and the parameter's.
PARAMETER_EXAMPLES: Mapping[str, Json] = {
    "Parlour-Tenant": "northbank",
    "limit": 20,
    "days": 7,
    "type_key": "task",
    "key": "T-112",
    "entity": "project/NRS",
    "about": "project/NRS",
    "team": "site-operations",
    "list_project_documents.ref": "project/NRS",
    "ref": "scaffold-checks",
    "list_entities.type": "task",
    "list_entities.project": "project/NRS",
    "source": "task/T-112",
    "target": "risk/R-03",
    "relation": "answers",
    "q": "crane",
}
