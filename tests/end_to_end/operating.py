"""What the deployment's operator does: requests to the API, files, and the key of a model's provider."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from local import emulator, example_tenant
from local.stack_client import wait_until
from tests.end_to_end.world import World
from tests.integration.models.aimock import AnswerFunction, ScriptedProtocolServer

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_URL, _SECRET = "ANTHROPIC_BASE_URL", "MODEL_SECRET"


def operate(world: World, method: str, path: str, **how: Any) -> httpx2.Response:
    """A request as the deployment's operator; one that is refused fails the test."""
    keys = {"Authorization": f"Bearer {world.stack.keys.operator_key}", "Parlour-Tenant": example_tenant.TENANT_SLUG}
    answer = world.talk.client.request(method, f"{world.stack.addresses.console}{path}", headers=keys, **how)
    assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
    return answer


def upload(world: World, name: str, data: bytes, about: str) -> str:
    """Upload as a browser does: the form from the API, the bytes to the bucket, word to the API. Returns its id."""
    wanted = {"name": name, "size_bytes": len(data), "about": about, "written_by_others": False}
    started = operate(world, "POST", "/v1/files", json=wanted).json()
    form = started["upload"]
    sent = world.talk.client.post(form["url"], data=form["fields"], files={"file": (name, data)})
    assert sent.is_success, f"{sent.status_code} {sent.text[:300]}"
    file_id = str(started["file"]["id"])
    operate(world, "POST", f"/v1/files/{file_id}/complete")
    return file_id


def state(world: World, file_id: str) -> dict[str, Any]:
    """The file once it is read, or was refused."""

    def look() -> dict[str, Any] | None:
        file: dict[str, Any] = operate(world, "GET", f"/v1/files/{file_id}").json()
        return file if file["state"] in {"ready", "failed"} else None

    found = wait_until(look, "the end of reading the file", 90)
    assert found is not None
    return found


@contextmanager
def thinking(world: World, folder: Path, mind: AnswerFunction) -> Iterator[ScriptedProtocolServer]:
    """Within the block Anthropic's models are aimock, and think what `mind` thinks; `folder` holds what it logs. What
    goes wrong in the mind fails the test."""
    server = ScriptedProtocolServer(folder, mind)
    try:
        with _model_at(world, server.url):
            yield server
    finally:
        server.stop()
    assert server.problems == []


@contextmanager
def _model_at(world: World, url: str) -> Iterator[None]:
    """Within the block the deployment has a key for Anthropic's models, whose address is `url`; the functions that ask
    models are deployed anew with it, and again without it at the end."""
    at = world.stack.addresses.emulator
    functions, secrets = emulator.client("lambda", at), emulator.client("secretsmanager", at)
    deployed = functions.list_functions()["Functions"]
    asking = {one["FunctionName"]: given for one in deployed if _URL in (given := one["Environment"]["Variables"])}
    (secret,) = {given[_SECRET] for given in asking.values()}
    key = secrets.get_secret_value(SecretId=secret)["SecretString"]
    world.settle()
    with ExitStack() as undo:
        for name, given in asking.items():
            undo.callback(_deploy, functions, name, given)
            _deploy(functions, name, {**given, _URL: url})
        undo.callback(secrets.put_secret_value, SecretId=secret, SecretString=key)
        undo.callback(world.settle)
        secrets.put_secret_value(SecretId=secret, SecretString=json.dumps({"anthropic_api_key": "sk-ant-none"}))
        yield


def _deploy(functions: "LambdaClient", name: str, variables: dict[str, str]) -> None:
    """Give a function another environment; where an alias serves, as a new version behind it."""
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
    functions.get_waiter("function_updated_v2").wait(FunctionName=name)
    for alias in functions.list_aliases(FunctionName=name)["Aliases"]:
        version = functions.publish_version(FunctionName=name)["Version"]
        functions.update_alias(FunctionName=name, Name=alias["Name"], FunctionVersion=version)
