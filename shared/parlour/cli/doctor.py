"""`parlour doctor`: a deployment checked from outside to inside, with what to do about each finding."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urljoin
from uuid import uuid4

import httpx2
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parlour.cli import rendering, secrets, terminal
from parlour.cli.api_client import ApiClient, JsonOption, get_api_client
from parlour.cli.aws_account import ProfileOption, RegionOption, find_account
from parlour.infra.errors import Forbidden, ParlourError, RateLimited

_MESSAGE = "This is a check by parlour doctor. Please answer with one word."
_TIMEOUT_SECONDS, _POLL_SECONDS = 60.0, 0.2
_FORBIDDEN_STATUS = 403
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red"}

type Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; what_to_do is empty when it is ok."""

    name: str
    status: Status
    found: str
    what_to_do: str = ""


def doctor(
    context: typer.Context,
    message: Annotated[bool, typer.Option(help="Send one message to an agent and wait for the reply.")] = True,
    stack: Annotated[str, typer.Option(metavar="NAME", help="CloudFormation stack to check, like parlour-prod.")] = "",
    profile: ProfileOption = "",
    region: RegionOption = "",
    as_json: JsonOption = False,
) -> None:
    """Check a deployment end to end. The exit status is 1 when something is broken.

    The message starts a conversation with the tenant's first public agent, and costs one model call."""
    target = get_api_client(context)
    findings = list(_run_checks(target, stack, (profile, region), with_message=message))
    if as_json:
        terminal.print_json({"checks": [asdict(finding) for finding in findings]})
    else:
        terminal.print_renderable(render_findings(findings))
    if any(finding.status == "failed" for finding in findings):
        raise typer.Exit(1)


def render_findings(findings: Sequence[Finding]) -> RenderableType:
    """Render each finding with what to do below it, and a summary."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(rendering.strip_control_codes(finding.found))
        if finding.what_to_do:
            text.append(f"\n{rendering.strip_control_codes(finding.what_to_do)}", style="dim")
        table.add_row(Text(finding.status, style=_COLOURS[finding.status]), finding.name, text)
    counts = {status: sum(finding.status == status for finding in findings) for status in _COLOURS}
    return Group(table, Text(f"\n{counts['ok']} ok, {counts['warning']} to look at, {counts['failed']} broken"))


def _run_checks(target: ApiClient, stack: str, account: tuple[str, str], *, with_message: bool) -> Iterator[Finding]:
    reached = _check("api", "Start the stack with `make run`, or check --url.", lambda: _find_api(target))
    yield reached
    yield _check(
        "stack", "Check --stack, --profile and --region; or `make run`.", lambda: _find_stack(target, stack, *account)
    )
    if reached.status == "failed":
        return
    yield from _deployment_findings(target)
    yield from _secret_findings(target)
    yield _check("attention", "Run `parlour attention`.", lambda: _find_attention(target))
    yield _check("webhook", "Check the inbound function and the API's routes.", lambda: _find_webhook(target))
    if with_message:
        yield from _round_trip_findings(target)


class _NeedsAttention(ParlourError):
    """It works, and somebody should look."""


def _check(name: str, what_to_do: str, find: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "ok", find())
    except _NeedsAttention as problem:
        return Finding(name, "warning", str(problem), what_to_do)
    except ParlourError as problem:
        return Finding(name, "failed", str(problem), what_to_do)


def _find_api(target: ApiClient) -> str:
    target.request("GET", "v1/health")
    return f"{target.url} answers"


def _find_stack(target: ApiClient, name: str, profile: str, region: str) -> str:
    if not name and target.stack_file is None:
        raise _NeedsAttention("not checked: no stack was named")
    account = find_account(target, profile, region)
    status = account.describe_stack(name or account.stack_name)
    if not status.endswith("_COMPLETE") or "ROLLBACK" in status:
        raise _NeedsAttention(f"{name or account.stack_name} is in the state {status}")
    return f"{name or account.stack_name}: {status}"


def _deployment_findings(target: ApiClient) -> Iterator[Finding]:
    """Return what the deployment finds out about itself."""
    try:
        found = target.request("GET", "v1/operations/health")
    except Forbidden:
        text = "schema, queues, embeddings and providers are not checked"
        yield Finding("deployment", "warning", text, "Use the operator's key.")
        return
    except ParlourError as problem:
        yield Finding("deployment", "failed", str(problem), "Check the http_api function and its log.")
        return
    queues = [one for one in found["checks"] if one["name"].startswith("queue ")]
    is_quiet = all(one["status"] == "ok" for one in queues)
    for one in found["checks"]:
        if not (is_quiet and one in queues):
            yield Finding(**one)
    if queues and is_quiet:
        yield Finding("queues", "ok", f"no dead letters in {len(queues)} queues")


def _secret_findings(target: ApiClient) -> Iterator[Finding]:
    try:
        found = target.request("GET", "v1/secrets")["secrets"]
    except ParlourError as problem:
        yield Finding("secrets", "failed", str(problem), "Check --tenant and the key.")
        return
    missing = secrets.find_missing(found)
    for one in missing:
        text = f"{one['name']} is {one['status']}; needed by {', '.join(one['used_by'])}"
        yield Finding("secrets", "failed", text, f"Run `parlour secrets set {one['name']}`.")
    if not missing:
        yield Finding("secrets", "ok", f"{sum(bool(one['used_by']) for one in found)} in use, all stored")


def _find_attention(target: ApiClient) -> str:
    counts = target.request("GET", "v1/attention")["counts"]
    if counts["total"]:
        raise _NeedsAttention(f"{counts['total']} items, {counts['waiting']} of them replies that wait")
    return "nothing needs attention"


def _find_webhook(target: ApiClient) -> str:
    """Return that the webhook answers, by a verification request with a wrong token."""
    url = target.url if target.stack_file is None else find_account(target, "", "").api_url
    query = {"hub.mode": "subscribe", "hub.verify_token": "parlour-doctor", "hub.challenge": "1"}
    address = urljoin(url.rstrip("/") + "/", "webhooks/whatsapp")
    try:
        with target.dependencies.open_http_client(url) as client:
            status = client.get(address, params=query).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        raise ParlourError(f"{address} does not answer ({type(problem).__name__})") from problem
    if status not in (_FORBIDDEN_STATUS, 401):
        raise ParlourError(f"{address} answered {status} to a wrong token; expected 401 or 403")
    return f"{address} answers and refuses a wrong token"


def _round_trip_findings(target: ApiClient) -> Iterator[Finding]:
    """Send a message to the first public web agent; return how it was answered, and by which model."""
    try:
        bindings = target.request("GET", "v1/bindings")["bindings"]
        slug = next((one["slug"] for one in bindings if one["door"] == "public" and "web" in one["channels"]), None)
        if slug is None:
            yield Finding("round trip", "warning", "no public agent on the web", "Give a binding a web channel.")
            return
        session, seconds = _send_message(target, slug)
        turn_id = target.request("GET", "v1/turns", session_id=session["session_id"], limit=1)["turns"][0]["id"]
        turn = target.request("GET", f"v1/turns/{turn_id}")
    except (Forbidden, RateLimited) as problem:
        yield Finding("round trip", "warning", f"not checked: {problem}", "Use `--no-message`.")
        return
    except ParlourError as problem:
        yield Finding("round trip", "failed", str(problem), "Check the orchestrator function and its log.")
        return
    yield Finding("round trip", "ok", f"{slug} replied after {seconds:.1f} s")
    yield _model_finding(turn)


def _model_finding(turn: Mapping[str, Any]) -> Finding:
    calls = turn["model_calls"]
    if not calls:
        text = f"no model answered: {turn['problem'] or 'a canned reply was sent'}"
        return Finding("model", "failed", text, "Check `parlour cost`, `parlour tenant show` and the model's key.")
    last = calls[-1]
    if turn["degraded"]:
        text = f"{last['provider']} {last['model']}: {last['outcome']}"
        return Finding("model", "failed", text, "Check the model's key and the provider's status page.")
    if last["provider"] == "offline":
        return Finding("model", "warning", "the offline model answers", "For a real model, set its key.")
    return Finding("model", "ok", f"{last['provider']} {last['model']}")


def _send_message(target: ApiClient, slug: str) -> tuple[dict[str, Any], float]:
    """Return the session and the seconds until the reply. Raises ParlourError when none comes."""
    session = target.send_request("POST", "v1/sessions", {"tenant": target.tenant, "binding": slug})
    path, headers = f"v1/sessions/{session['session_id']}", {"Authorization": f"Bearer {session['token']}"}
    began, waited = time.monotonic(), 0.0
    body = {"text": _MESSAGE, "client_message_id": uuid4().hex}
    target.send_request("POST", f"{path}/messages", body, headers)
    while waited < _TIMEOUT_SECONDS:
        events = target.send_request("GET", f"{path}/events", None, headers, {"after": 0})["events"]
        if any(event["kind"] == "done" for event in events):
            return session, time.monotonic() - began
        target.dependencies.sleep(_POLL_SECONDS)
        waited += _POLL_SECONDS
    raise ParlourError(f"{slug} did not reply within {_TIMEOUT_SECONDS:.0f} s")
