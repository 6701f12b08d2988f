"""Whoever is forgotten takes along what is theirs: what others did since, and said, stays theirs."""

import json
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject, canonical
from tests.desk import Desk, calls, says
from tests.integration.forgetting.aviary import Aviary, tables, untold
from tests.integration.talking import Talk

OWNER, RESPONSE = "CANARY-31X", "CANARY-32X"


def note(talk: Talk) -> str:
    """A risk that somebody has made by chat; its handle."""
    risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER, "response": f"Ask {RESPONSE} first."}
    made = calls("create_entity", kind="risk", name="Crane at gate", project="project/NRS", properties=risk)
    talk.say("Please note a risk.", made, says("Done."))
    ((key,),) = talk.desk.rows("SELECT key FROM entities WHERE name = 'Crane at gate'")
    return f"risk/{key}"


def read(handle: str, call: str) -> list[JsonObject]:
    return calls("get_entity", call, entities=[handle])


def properties(desk: Desk, handle: str) -> JsonObject:
    ((found, deleted),) = desk.rows(
        f"SELECT properties, deleted_at FROM entities WHERE key = '{handle.partition('/')[2]}'"
    )
    assert deleted is None
    assert isinstance(found, dict)
    return found


def kept_verbatim(talk: Talk, message: UUID, value: str, text: str) -> None:
    """What the agent said, kept word for word beside a summary."""
    talk.desk.rows(
        "INSERT INTO kept_verbatim (tenant_id, id, session_id, message_id, turn, last_turn, kind, value, text, ours,"
        f" untold, created_at) VALUES (current_tenant(), '{uuid7(talk.desk.clock())}', '{talk.session}', '{message}',"
        f" 1, 1, 'promise', '{value}', '{text}', true, true, now()) RETURNING 1"
    )


def said(desk: Desk) -> str:
    return "\n".join(str(one) for (one,) in desk.rows("SELECT body FROM messages"))


def test_a_record_that_somebody_else_changed_since_stays_with_what_they_wrote(aviary: Aviary) -> None:
    desk, talk, other = aviary.desk, Talk(aviary.desk), Talk(aviary.desk)
    handle = note(talk)
    change = calls("update_entity", "c2", entity=handle, properties={"owner": "HERON-11"})
    other.say("The owner is HERON-11.", change, says("Done: HERON-11 owns it."))
    report = aviary.forget("user", talk.user)
    left = properties(desk, handle)
    assert left["owner"] == "HERON-11"
    assert "response" not in left
    assert "HERON-11" in tables(aviary.cluster, aviary.name)["context_rows"]
    assert "Done: HERON-11 owns it." in said(desk)
    assert RESPONSE not in "".join(tables(aviary.cluster, aviary.name).values())
    assert "rename it" in canonical(report)


@pytest.mark.parametrize("how", ["links", "fills", "member"])
def test_so_does_one_that_somebody_else_linked_or_filled(aviary: Aviary, how: str) -> None:
    desk, talk, other = aviary.desk, Talk(aviary.desk), Talk(aviary.desk)
    handle = note(talk)
    if how == "links":
        desk.rows(
            "INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_by, created_at)"
            f" SELECT a.tenant_id, '{uuid7(desk.clock())}', a.id, b.id, 'depends_on', 'user:{other.user}', now()"
            " FROM entities a, entities b WHERE a.name = 'Crane at gate' AND b.key = 'R-03' RETURNING 1"
        )
    elif how == "fills":
        desk.rows(
            "UPDATE entities SET project_id = (SELECT id FROM entities WHERE name = 'Crane at gate')"
            " WHERE key = 'R-05' RETURNING 1"
        )
    else:
        desk.rows("UPDATE entities SET version = 2, updated_by = 'member:x' WHERE name = 'Crane at gate' RETURNING 1")
    aviary.forget("user", talk.user)
    assert "response" not in properties(desk, handle)


def test_what_others_were_told_of_it_goes_and_what_else_was_said_to_them_stays(aviary: Aviary) -> None:
    desk, talk, other = aviary.desk, Talk(aviary.desk), Talk(aviary.desk)
    handle = note(talk)
    other.say("And my own matter, EGRET-22?", read(handle, "c3"), says("Your own matter EGRET-22 is noted."))
    other.say("Who owns the crane?", read(handle, "c4"), says(f"It is owned by {OWNER}."))
    aviary.embed()
    aviary.forget("user", talk.user)
    assert aviary.seen() == {}
    assert "Your own matter EGRET-22 is noted." in said(desk)
    prompt = other.prompt("And now?")
    assert "EGRET-22 is noted" in prompt
    assert "CANARY" not in prompt
    assert aviary.seen() == {}


def test_what_a_colleagues_memory_has_of_it_goes_only_where_it_says_it(aviary: Aviary) -> None:
    desk, talk, other = aviary.desk, Talk(aviary.desk), Talk(aviary.desk)
    handle = note(talk)
    asked = other.say("And my own matter?", read(handle, "c3"), says("It is noted."))
    other.summary("They have a matter of their own.", 1, 1)
    other.summary(f"They asked about what {OWNER} owns.", 1, 2)
    mine = other.episode("They asked after their own matter.", asked)
    gone = other.episode(f"They heard of {OWNER}.", asked)
    desk.rows(f"UPDATE sessions SET consolidated_turn = 1 WHERE id = '{other.session}' RETURNING 1")
    for place, word in enumerate(("their own matter", OWNER), 1):
        other.row("summary_anchor", f"Up to {word}.")
        desk.rows(f"UPDATE context_rows SET ordinal = {place} WHERE content = 'Up to {word}.' RETURNING 1")
        kept_verbatim(other, asked, word, f"They are told of {word}.")
    desk.rows(
        "INSERT INTO extractions (tenant_id, session_id, anchors, anchored) VALUES"
        f" (current_tenant(), '{other.session}', 2, 100) ON CONFLICT (tenant_id, session_id) DO UPDATE SET anchors = 2,"
        " anchored = 100 RETURNING 1"
    )
    state = json.dumps({"notes": [OWNER]})
    desk.rows(
        "INSERT INTO agent_states (tenant_id, session_id, state, updated_at) VALUES"
        f" (current_tenant(), '{other.session}', '{state}', now()) ON CONFLICT (tenant_id, session_id)"
        " DO UPDATE SET state = EXCLUDED.state RETURNING 1"
    )
    before = aviary.rows()
    told = aviary.forget("user", talk.user)
    assert untold(before, aviary.rows(), told) == []
    assert desk.rows("SELECT value FROM kept_verbatim") == [("their own matter",)]
    assert desk.rows("SELECT content FROM context_rows WHERE kind = 'summary_anchor'") == [("Up to their own matter.",)]
    assert desk.rows("SELECT anchors, anchored FROM extractions") == [(1, 50)]
    assert desk.rows(f"SELECT 1 FROM work_due WHERE kind = 'summary' AND id = '{other.session}'")
    assert desk.rows("SELECT version FROM summaries") == [(1,)]
    assert desk.rows("SELECT id FROM episodes") == [(mine,)]
    assert desk.rows(f"SELECT FROM context_rows WHERE id = '{gone}'") == []
    assert desk.rows(f"SELECT consolidated_turn FROM sessions WHERE id = '{other.session}'") == [(1,)]
    assert aviary.seen() == {}
