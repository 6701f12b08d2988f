"""What operators look at: turns, prompts, costs, what needs a person; and wrong input to the command."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.stories import packs, words
from tests.stories.clients import HTTP, Api, Command, Phone, Visitor, cited_titles
from tests.stories.stack import Stack, plain_environment

_NOBODY = "00000000-0000-7000-8000-000000000000"


def test_turn_commands_print_the_turn_with_reply_and_sources(
    operator: Api, visit: Callable[..., Visitor], command: Command
) -> None:
    visitor = visit(words.CONTRACT_DESK)
    reply = visitor.ask("What do we owe per day if we finish late?")
    (turn,) = command.json("turns", "--session", visitor.session_id)
    assert turn["id"] == operator.turns(visitor.session_id)[0]["id"]
    listed = command.print("turns", "--session", visitor.session_id)
    assert [word in listed for word in (turn["id"], words.CONTRACT_DESK, "finish late")] == [True, True, True]
    shown = command.print("turn", turn["id"])
    assert "3,500" in shown
    assert [title in shown for title in cited_titles(reply)] == [True] * len(reply["citations"])
    assert [layer in shown for layer in turn["tokens_by_layer"]] == [True] * len(turn["tokens_by_layer"])
    assert command.run("turn", _NOBODY).returncode == 1


def test_prompt_is_explained_and_rebuilt_byte_for_byte(
    operator: Api, visit: Callable[..., Visitor], command: Command
) -> None:
    visitor = visit()
    visitor.ask("When does the crane come?")
    visitor.ask("Up to which wind may we lift?")
    first, second = (turn["id"] for turn in operator.turns(visitor.session_id))
    explained = command.print("explain", second)
    assert [layer in explained for layer in ("tools", "tiers", "history", "message")] == [True] * 4
    found = command.json("rebuild", second)
    assert found["is_identical"] is True
    assert hashlib.sha256(found["text"].encode()).hexdigest() == found["hash"]
    assert ["When does the crane come?" in found["text"], "Up to which wind" in found["text"]] == [True, True]
    rebuilt = command.run("rebuild", second)
    assert (rebuilt.returncode, rebuilt.stdout) == (0, found["text"])
    assert words.SAME_BYTES in rebuilt.stderr
    assert "history" in command.print("explain", second, "--diff", first)
    smaller = command.json("rebuild", second, "--budget", "3300")["reassembly"]
    assert smaller["tokens"] <= 3_300 < smaller["tokens_before"]


def test_cost_switch_stops_turns_with_a_polite_line(
    own_tenant: Api, visit: Callable[..., Visitor], command: Command
) -> None:
    tenant = own_tenant.tenant
    visitor = visit(packs.BINDING, tenant)
    assert packs.FERRY_TITLE in cited_titles(visitor.ask(packs.FERRY_QUESTION))
    assert "$5.00" in command.print("cost", "cap", "5", tenant=tenant)
    command.print("cost", "stop", tenant=tenant)
    reply = visitor.ask(packs.FERRY_QUESTION)
    assert re.search(words.STOPPED_LINE, reply["text"], re.IGNORECASE)
    assert reply["citations"] == []
    attention = own_tenant.get("/v1/attention")
    assert (attention["spend"]["stopped"], attention["counts"]["spend"]) == (True, 1)
    assert "cost resume" in command.print(words.ATTENTION, tenant=tenant)
    command.print("cost", "resume", tenant=tenant)
    assert packs.FERRY_TITLE in cited_titles(visitor.ask(packs.FERRY_QUESTION))
    costs = command.print("cost", tenant=tenant)
    assert [word in costs for word in ("of $5.00", packs.BINDING, "turns without a model")] == [True, True, True]


def test_tenant_without_trouble_has_nothing_that_needs_a_person(own_tenant: Api, command: Command) -> None:
    assert words.NOTHING_NEEDS_A_PERSON in command.print(words.ATTENTION, tenant=own_tenant.tenant)
    letters = own_tenant.get(words.DEAD_LETTERS)["dead_letters"]
    printed = command.print(words.REDRIVE, tenant=own_tenant.tenant)
    assert [queue in printed for queue in letters] == [True] * len(letters)
    assert command.run(words.REDRIVE, "--turn", _NOBODY, tenant=own_tenant.tenant).returncode == 1
    viewer = own_tenant.key_for("viewer")
    assert viewer.status("GET", words.DEAD_LETTERS) == 403
    assert viewer.status("POST", "/v1/operations/redrive", {"queue": "intake"}) == 403


def test_sample_events_that_help_and_docs_name_raise_no_alarm(
    running_stack: Stack, operator: Api, command: Command
) -> None:
    printed = command.print("invoke", "--help") + (words.ROOT / words.OPERATE_PAGE).read_text("utf-8")
    commands = sorted(set(re.findall(r"parlour invoke ([a-z_]+) (\S+\.json)", printed)))
    assert {function for function, _ in commands} == {"inbound", "receiver"}
    before = _troubles(operator)
    for function, event in commands:
        given = [sys.executable, *words.INVOKE, function, event, "--state", str(running_stack.folder)]
        ran = subprocess.run(
            given, cwd=words.ROOT, env=plain_environment(), capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert Phone(running_stack, words.SAMPLE_SENDER).reply()
    assert _troubles(operator) == before


def _troubles(operator: Api) -> object:
    """Return what needs a person, and what the queues gave up."""
    return operator.get("/v1/attention")["counts"], operator.get(words.DEAD_LETTERS)


def test_wrong_arguments_exit_with_2_and_one_line(command: Command) -> None:
    wrong = [
        ("nonsense",),
        ("turn", "not-an-id"),
        ("turn",),
        ("turns", "--limit", "0"),
        (words.ERASE, "cat", _NOBODY),
        ("show", "abc"),
        ("search", "crane", "--in", "project/NRS", "--type", "task"),
        ("records", "task", "--where", "state"),
        ("upload", "nowhere.txt"),
        ("pulse", "show", "project/NRS", "--history", "--diff"),
        (words.REDRIVE, "--all", "--queue", "intake"),
        ("cost", "cap", "much"),
    ]
    with ThreadPoolExecutor(2) as two:
        ran = dict(zip(wrong, two.map(lambda arguments: command.run(*arguments), wrong), strict=True))
    assert {arguments: one.returncode for arguments, one in ran.items()} == dict.fromkeys(wrong, 2)
    for arguments, one in ran.items():
        assert one.stderr.startswith("parlour: "), arguments
        assert one.stderr.count("\n") == 1, arguments
        assert one.stdout == "", arguments


def test_command_that_reaches_nobody_says_which_address(command: Command) -> None:
    ran = command.run("--url", "http://127.0.0.1:9", "turns")
    assert ran.returncode == 1
    assert "http://127.0.0.1:9" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_health_api_description_and_console_are_served_with_their_headers(running_stack: Stack) -> None:
    for address in (running_stack.url, running_stack.deployed):
        assert HTTP.get(f"{address}/v1/health").json() == {"status": "ok"}
    described = HTTP.get(f"{running_stack.url}/v1/openapi.json").json()
    assert described["openapi"].startswith("3.")
    assert {"/v1/sessions", "/v1/turns", "/v1/pack", "/v1/search"} <= set(described["paths"])
    page = HTTP.get(f"{running_stack.url}/console/")
    assert page.status_code == 200
    assert "<html" in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    for script in re.findall(r'(?:src|href)="([\w.-]+\.(?:js|css))"', page.text):
        assert HTTP.get(f"{running_stack.url}/console/{script}").status_code == 200, script
    offered = HTTP.get(f"{running_stack.url}/console/settings.json").json()["bindings"]
    assert {words.SITE_DESK, words.CONTRACT_DESK} <= {binding["slug"] for binding in offered}


def test_unknown_path_and_wrong_method_are_refused_in_the_same_shape(running_stack: Stack, operator: Api) -> None:
    answers = [
        operator.send("GET", "/v1/nothing"),
        operator.send("DELETE", "/v1/turns"),
        operator.send("POST", words.ENTITIES, {"type": "finding", "name": "x", "colour": "red"}),
        HTTP.post(f"{running_stack.url}/v1/sessions", content=b"{", headers={"Content-Type": "application/json"}),
    ]
    assert [answer.status_code for answer in answers] == [404, 405, 422, 400]
    assert [set(answer.json()["error"]) >= {"code", "message"} for answer in answers] == [True] * 4
