"""Records: made once, changed by whoever read the newest version, linked, searched, and closed to low levels."""

from collections.abc import Callable

from tests.stories import words
from tests.stories.clients import Api, Command, Visitor


def test_record_is_found_changed_and_deleted(operator: Api) -> None:
    properties = {"owner": "Ida Brandt", "state": "open"}
    handle = operator.record("task", "Repaint the cormorant buoy", properties=properties)
    path = f"{words.ENTITIES}/{handle}"
    assert handle in [card["handle"] for card in operator.get("/v1/search", q="cormorant buoy")["cards"]]
    changed = operator.ask("PATCH", path, {"properties": {"state": "done"}, "version": 1})
    assert (changed["version"], changed["properties"]["state"]) == (2, "done")
    assert changed["properties"]["owner"] == "Ida Brandt"
    assert operator.status("PATCH", path, {"properties": {"state": "open"}, "version": 1}) == 409
    refused = operator.send("PATCH", path, {"properties": {"state": "sleepy"}})
    assert refused.status_code == 422
    assert "in progress" in refused.json()["error"]["message"]
    assert operator.get(path)["properties"]["state"] == "done"
    assert operator.status("DELETE", path) == 204
    assert operator.status("GET", path) == 404
    assert handle not in [card["handle"] for card in operator.get("/v1/search", q="cormorant buoy")["cards"]]


def test_record_made_twice_with_one_key_is_made_once(operator: Api, name: str) -> None:
    wanted = {"type": "finding", "name": "Otter holt below the abutment"}
    made = [operator.ask("POST", words.ENTITIES, wanted, headers={"Idempotency-Key": name})["handle"] for _ in range(2)]
    assert made[0] == made[1]
    assert operator.ask("POST", words.ENTITIES, wanted)["handle"] != made[0]


def test_link_is_read_from_both_ends(operator: Api) -> None:
    first, second = (operator.record("finding", f"Gannet ledge, {side}") for side in ("north", "south"))
    link = {"source": first, "target": second, "relation": "depends_on"}
    assert [operator.ask("POST", words.LINKS, link)["is_new"] for _ in range(2)] == [True, False]
    ends = {}
    for handle in (first, second):
        (linked,) = operator.get(f"{words.ENTITIES}/{handle}/links")["links"]
        ends[handle] = (linked["handle"], linked["relations"][0]["direction"])
    assert ends == {first: (second, "outgoing"), second: (first, "incoming")}
    assert operator.status("DELETE", words.LINKS, params=link) == 204
    assert operator.get(f"{words.ENTITIES}/{first}/links")["links"] == []


def test_restricted_record_gives_nothing_to_a_low_member(operator: Api, visit: Callable[..., Visitor]) -> None:
    low, high = operator.key_for("viewer", clearance=1), operator.key_for("viewer", clearance=3)
    handle = operator.record(
        "finding",
        "Smuggled petrel eggs",
        classification=3,
        properties={"description": "Forty petrel eggs lie behind the pump house."},
    )
    seen = []
    for reader in (low, high):
        found = reader.get("/v1/search", q="petrel eggs behind the pump house")
        listed = reader.get(words.ENTITIES, type="finding", limit=50)["entities"]
        seen.append(
            (
                reader.status("GET", f"{words.ENTITIES}/{handle}"),
                handle in [card["handle"] for card in found["cards"]],
                handle in [record["handle"] for record in listed],
            )
        )
    assert seen == [(404, False, False), (200, True, True)]
    reply = visit().ask("What lies behind the pump house, petrel eggs?")
    assert "Forty" not in reply["text"]
    assert "Smuggled petrel eggs" not in [citation["title"] for citation in reply["citations"]]


def test_document_is_revised_by_who_read_its_newest_version(operator: Api) -> None:
    handle = operator.document("Skua notes", "The skua survey is on Monday.")
    path = f"/v1/documents/{handle}"
    assert operator.ask("PATCH", path, {"content": "The skua survey is on Friday.", "version": 1})["version"] == 2
    assert operator.status("PATCH", path, {"content": "Nothing.", "version": 1}) == 409
    assert "Friday" in operator.get(path)["content"]
    assert "Skua notes" in operator.titles_found("skua survey Friday")


def test_commands_search_list_and_show_records(operator: Api, command: Command) -> None:
    properties = {"owner": "Ida Brandt", "state": "waiting", "note": "The whimbrel sluice sticks at 3.2 m."}
    handle = operator.record("task", "Free the whimbrel sluice", properties=properties)
    assert handle in command.print("records", "task", "--where", "state=waiting")
    assert handle not in command.print("records", "task", "--where", "state=done")
    shown = command.print("show", handle)
    assert [word in shown for word in ("Free the whimbrel sluice", "Ida Brandt", "3.2 m")] == [True, True, True]
    assert command.json("show", handle)["record"]["handle"] == handle
    found = command.print("search", "whimbrel sluice", "--type", "task")
    assert handle in found
    assert "3.2 m" in found
    assert "site-report" in command.print("search", "crack at C4", "--in", "project/NRS")
