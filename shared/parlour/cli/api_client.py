"""Which deployment the command talks to, as whom, and the calls themselves."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from parlour.erasure.report import ErasureUnfinished
from parlour.infra import errors
from parlour.infra.errors import InvalidPack, Misconfigured, PackProblem, ParlourError, RetryError

_LOCAL_STACK_FILE = Path(".parlour") / "cli.json"
"""What `make run` writes: {"url", "tenant", "key"} of the local stack."""

_STACK_FILE_NAME = "stack.json"
"""What `make run` writes beside it: {"endpoint", "api_url", "outputs", "stack_name", "aws"} of the emulated account."""

_NO_DEPLOYMENT = (
    "no deployment given: use --url, --tenant and --key, or PARLOUR_URL, PARLOUR_TENANT and PARLOUR_KEY; or `make run`"
)

#: The option of every command that shows something.
JsonOption = Annotated[bool, typer.Option("--json", help="Print the API's JSON instead.")]


@dataclass(frozen=True, slots=True)
class CliDependencies:
    """What the command uses besides its own process.

    open_http_client  opens a client for a base URL.
    run_program       runs a program in this terminal and returns its exit status.
    folder            the working directory; the local stack's file is looked for here and above.
    checkout          the folder whose environment runs this command; the file is looked for here, too, so that the
                      command finds the running stack from anywhere.
    """

    open_http_client: Callable[[str], httpx2.Client]
    run_program: Callable[[Sequence[str]], int]
    sleep: Callable[[float], None]
    folder: Path
    checkout: Path | None = None


@dataclass(frozen=True, slots=True)
class ApiClient:
    """A deployment and the credentials for it; each is "" until it is known.

    stack_file  what `make run` writes of its emulated AWS account; None for any other deployment.
    """

    dependencies: CliDependencies
    url: str = ""
    tenant: str = ""
    key: str = ""
    stack_file: Path | None = None

    def with_local_defaults(self) -> "ApiClient":
        """Return it with what was not given taken from the local stack's file.

        The file's key is sent to the file's address only. Raises Misconfigured when it remains unknown where to go.
        """
        folder, checkout = self.dependencies.folder, self.dependencies.checkout
        places = [folder, *folder.parents, *([checkout] if checkout else [])]
        files = (place / _LOCAL_STACK_FILE for place in places)
        file = next((one for one in files if one.is_file()), None)
        if file is None and not self.url:
            raise Misconfigured(_NO_DEPLOYMENT)
        kept = _read_stack_file(file, self.url) if file else None
        if file is None or kept is None:
            return self
        tenant, key = self.tenant or kept["tenant"], self.key or kept["key"]
        return replace(self, url=kept["url"], tenant=tenant, key=key, stack_file=file.with_name(_STACK_FILE_NAME))

    def request(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """Return the answer's JSON, None for an empty one.

        Raises what the API raised, by its code; RetryError when nobody answers.
        """
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if self.tenant:
            headers["Parlour-Tenant"] = self.tenant
        return self.send_request(method, path, body, headers, query)

    def send_request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> Any:
        """Send a request with headers of the caller's choosing; return and raise as `request`.

        A list in the query is sent as one parameter for each entry.
        """
        asked = {
            name: [str(one) for one in value] if isinstance(value, list) else str(value)
            for name, value in (query or {}).items()
            if value is not None
        }
        try:
            with self.dependencies.open_http_client(self.url) as client:
                answer = client.request(method, path, json=body, headers=headers, params=asked)
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise RetryError(f"{self.url} does not answer ({type(problem).__name__}); is it running?") from problem
        if not answer.is_success:
            raise to_error(answer)
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError:
            raise ParlourError(f"{self.url} answered without JSON; is it a Parlour deployment?") from None


def get_api_client(context: typer.Context) -> ApiClient:
    """Return the deployment that the command's own options name. Raises Misconfigured when none is known."""
    chosen: ApiClient = context.obj
    return chosen.with_local_defaults()


def to_error(answer: httpx2.Response) -> ParlourError:
    """Return the error that the API answered, as its own class.

    A RetryError where the API, or a proxy before it, had no time or did not answer.
    """
    unknown = RetryError if answer.status_code in _RETRY_STATUSES else ParlourError
    try:
        told = answer.json()["error"]
        code, message, problems = told["code"], told["message"], told.get("problems", [])
    except (ValueError, KeyError, TypeError):
        return unknown(f"{answer.url.host} answered with status {answer.status_code}; is it a Parlour deployment?")
    if code == InvalidPack.code:
        return InvalidPack([PackProblem(**problem) for problem in problems])
    return _ERRORS_BY_CODE.get(code, unknown)(message)


_RETRY_STATUSES = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)


def _read_stack_file(file: Path, url: str) -> dict[str, str] | None:
    """Return what `make run` wrote; None when a URL was given and is not the local stack's."""
    try:
        found = json.loads(file.read_text("utf-8"))
        kept = {name: str(found[name]) for name in ("url", "tenant", "key")}
    except (OSError, ValueError, KeyError, TypeError):
        if url:
            return None
        raise Misconfigured(f"{file} is not a valid file of `make run`; run it again or pass --url") from None
    return kept if not url or _trim_url(url) == _trim_url(kept["url"]) else None


def _trim_url(url: str) -> str:
    """Return an address of the local stack without what people vary in it."""
    return url.rstrip("/").removesuffix("/v1").replace("//localhost:", "//127.0.0.1:")


_ERRORS_BY_CODE: dict[str, type[ParlourError]] = {
    known.code: known
    for known in (
        errors.MalformedPayload,
        errors.Unauthenticated,
        errors.Forbidden,
        errors.NotFound,
        errors.MethodNotAllowed,
        errors.Conflict,
        errors.PayloadTooLarge,
        errors.InvalidRequest,
        errors.DatabaseUnavailable,
        errors.QueueUnavailable,
        errors.SecretUnavailable,
        errors.ProviderUnavailable,
        errors.Misconfigured,
        ErasureUnfinished,
    )
}
