"""What is remembered of people: told next time, to nobody else, put right, and erased."""

import json
import re
from collections.abc import Callable

from tests.stories import words
from tests.stories.clients import Api, Command, Visitor

_QUESTION = "How wide is the crack at C4?"


def test_second_session_is_told_what_the_visitor_said_and_a_stranger_is_not(
    operator: Api, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    visitor.ask("My name is Rosalind Pettigrew.")
    (fact,) = visitor.facts()
    assert (fact["key"], fact["value"]) == (words.FACT_NAME, "Rosalind Pettigrew")
    assert [source["text"] for source in fact[words.SAID_IN]] == ["My name is Rosalind Pettigrew."]
    again, stranger = visitor.again(), visit()
    assert again.session_id != visitor.session_id
    again.ask(_QUESTION)
    stranger.ask(_QUESTION)
    prompts = [operator.prompt(operator.turns(one.session_id)[0]["id"]) for one in (again, stranger)]
    assert ["Rosalind Pettigrew" in prompt for prompt in prompts] == [True, False]
    assert stranger.facts() == []


def test_visitor_is_remembered_in_their_own_words(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.ask("Call me Bru. Please contact me by email.")
    visitor.ask("Please reply in Hindi.")
    visitor.ask("Remember that our docket is QX-4711.")
    remembered = json.dumps([fact["value"] for fact in visitor.facts()])
    assert [word in remembered for word in ("Bru", "email", "Hindi", "QX-4711")] == [True, True, True, True]


def test_fact_is_corrected_and_forgotten_by_its_visitor_alone(visit: Callable[..., Visitor]) -> None:
    visitor, stranger = visit(), visit()
    visitor.ask("My name is Ada Wren.")
    path = f"/v1/memory/facts/{visitor.facts()[0]['id']}"
    assert stranger.send("PATCH", path, {"value": "Eve"}).status_code in {403, 404}
    assert stranger.send("DELETE", path).status_code in {403, 404}
    changed = visitor.send("PATCH", path, {"value": "Ada Wrenfield"})
    assert changed.status_code == 200
    (fact,) = visitor.facts()
    assert fact["value"] == "Ada Wrenfield"
    assert [former["value"] for former in fact[words.FORMER_VALUES]] == ["Ada Wren"]
    assert visitor.send("DELETE", f"/v1/memory/facts/{fact['id']}").status_code == 200
    assert visitor.facts() == []


def test_fact_known_to_a_team_is_told_to_everybody_it_talks_to(operator: Api, visit: Callable[..., Visitor]) -> None:
    told = {"scope": "team", "slug": words.TEAM, "key": "gate", "value": "The Quillfeather gate is locked"}
    made = operator.ask("PUT", words.SHARED_FACTS, told)["id"]
    prompts = [_prompt(operator, visit(binding)) for binding in (words.SITE_DESK, words.CONTRACT_DESK)]
    operator.ask("DELETE", f"/v1/memory/facts/{made}")
    prompts.append(_prompt(operator, visit()))
    assert ["Quillfeather" in prompt for prompt in prompts] == [True, False, False]


def _prompt(operator: Api, visitor: Visitor) -> str:
    visitor.ask(_QUESTION)
    return operator.prompt(operator.turns(visitor.session_id)[0]["id"])


def test_user_is_erased_after_a_dry_run_that_changes_nothing(
    operator: Api, visit: Callable[..., Visitor], command: Command
) -> None:
    canaries = re.compile("Quasnitz|ZX-88213")
    visitor = visit()
    visitor.ask("My name is Brunhild Quasnitz.")
    visitor.ask("Remember that our docket is ZX-88213.")
    again = visitor.again()
    again.ask(_QUESTION)
    (turn,) = operator.turns(again.session_id)
    assert canaries.search(operator.prompt(turn["id"]))
    user = operator.get(f"/v1/sessions/{visitor.session_id}")["user_id"]

    would = command.json(words.ERASE, "user", user, "--dry-run")
    assert would["dry_run"] is True
    assert {row[words.ERASED_TABLE] for row in would[words.ERASED_ROWS]} >= words.ROWS_WITH_PERSONAL_DATA
    declined = command.run(words.ERASE, "user", user, typed="n\n")
    assert declined.returncode == 1
    assert {fact["value"] for fact in visitor.facts()} >= {"Brunhild Quasnitz"}

    done = command.json(words.ERASE, "user", user, "--yes")
    assert (done["dry_run"], done["finished"]) == (False, True)
    assert {row[words.ERASED_TABLE] for row in done[words.ERASED_ROWS]} >= words.ROWS_WITH_PERSONAL_DATA
    assert done[words.OUT_OF_REACH]
    assert canaries.search(json.dumps(done)) is None
    assert visitor.send("GET", "/v1/memory").status_code in {401, 404}
    gone = (f"/v1/sessions/{visitor.session_id}", f"/v1/sessions/{again.session_id}", f"/v1/turns/{turn['id']}")
    assert [operator.status("GET", path) for path in gone] == [404, 404, 404]
    assert operator.get("/v1/users", text="Quasnitz")["users"] == []
    assert canaries.search(json.dumps(operator.get("/v1/search", q="Brunhild Quasnitz ZX-88213")["cards"])) is None
    assert canaries.search(json.dumps(operator.get("/v1/turns", limit=100))) is None
    assert user in [one["target_id"] for one in operator.get(words.ERASURES)[words.ERASURE_LIST]]


def test_erased_message_leaves_an_empty_place(operator: Api, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.ask("When does the crane come?")
    visitor.ask("The password of the boat house is Zwolle77.")
    message = visitor.messages()[-2]["id"]
    visitor.ask("Up to which wind may we lift?")
    before = visitor.messages()
    operator.ask("DELETE", f"/v1/messages/{message}")
    after = {one["id"]: one["text"] for one in visitor.messages()}
    assert after[message] == ""
    assert [one["id"] for one in before] == [*after]
    assert "When does the crane come?" in after.values()
    assert "Zwolle77" not in json.dumps(operator.turns(visitor.session_id))
    assert operator.status("DELETE", f"/v1/messages/{visitor.session_id}") == 404
