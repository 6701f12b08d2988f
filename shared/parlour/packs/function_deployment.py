"""The function that runs a pack's code: one Lambda function per tenant, with Parlour's layers and a role that may log.

It has none of Parlour's environment, secrets or rights. Its variables are those of `functions/.env`.
"""

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import InvalidRequest, Misconfigured
from parlour.infra.json_values import canonical_digest
from parlour.packs.function_tools import FUNCTIONS_FOLDER, has_functions

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

#: The file that Lambda calls. It knows the version of the code beside it.
_HANDLER_FILE = "handler.py"
_HANDLER = """from functools import partial
from parlour.pack_functions.entry import handle
handler = partial(handle, code_version="{code_version}")
"""
_MAX_ZIP_BYTES = 50 * 1024 * 1024
_TIMEOUT_SECONDS, _MEMORY_MB = 890, 512
_MACHINES = {"arm64": "aarch64", "x86_64": "x86_64"}


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """The deployment that the function belongs to.

    name    the stack's.
    role    the ARN of the role that its pack functions run as.
    """

    name: str
    role: str


def deploy_functions(client: "LambdaClient", stack: DeployedStack, tenant: str, pack: Path) -> str:
    """Create or update the function with the pack's code; returns its name.

    Raises InvalidRequest when the pack has no code, Misconfigured when Lambda refuses.
    """
    if not has_functions(pack):
        raise InvalidRequest(f"{pack} has no {FUNCTIONS_FOLDER}/*.py; there is nothing to deploy")
    name = f"{stack.name}-pack-{tenant}"
    folder = pack / FUNCTIONS_FOLDER
    try:
        running = client.get_function_configuration(FunctionName=f"{stack.name}-orchestrator")
        settings: dict[str, Any] = {
            "Layers": [layer["Arn"] for layer in running["Layers"]],
            "Environment": {"Variables": _read_variables(folder / ".env")},
            "Timeout": _TIMEOUT_SECONDS,
            "MemorySize": _MEMORY_MB,
            "Role": stack.role,
            "Handler": "handler.handler",
        }
        architecture = running["Architectures"][0]
        code = _build_zip(folder, architecture)
        try:
            client.update_function_code(FunctionName=name, ZipFile=code)
            client.get_waiter("function_updated_v2").wait(FunctionName=name)
            client.update_function_configuration(FunctionName=name, **settings)
            client.get_waiter("function_updated_v2").wait(FunctionName=name)
        except client.exceptions.ResourceNotFoundException:
            client.create_function(
                FunctionName=name,
                Code={"ZipFile": code},
                Runtime=running["Runtime"],
                Architectures=[architecture],
                **settings,
            )
            client.get_waiter("function_active_v2").wait(FunctionName=name)
    except (BotoCoreError, ClientError) as error:
        raise Misconfigured(f"the function {name} was not deployed: {error}") from error
    return name


def _read_variables(file: Path) -> dict[str, str]:
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    pairs = [line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#")]
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _build_zip(folder: Path, architecture: str) -> bytes:
    """Return the code and its requirements. The same files give the same bytes."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as installed, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        if (folder / "requirements.txt").exists():
            _install_requirements(folder / "requirements.txt", Path(installed), architecture)
        for name, content in sorted(code_files(Path(installed), folder).items()):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    if buffer.tell() > _MAX_ZIP_BYTES:
        size = f"{buffer.tell():,} bytes zipped; Lambda takes {_MAX_ZIP_BYTES:,}"
        raise InvalidRequest(f"{folder} is too large with its requirements: {size}")
    return buffer.getvalue()


def code_files(*folders: Path) -> dict[str, bytes]:
    """Return the files of a function by path. The handler has the version of the others: a digest of them."""
    files = {name: content for folder in folders for name, content in _list_files(folder)}
    files.pop(_HANDLER_FILE, None)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return {**files, _HANDLER_FILE: _HANDLER.format(code_version=canonical_digest(digests)).encode()}


def _list_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in parts and not any(part.startswith(".") for part in parts):
            yield "/".join(parts), path.read_bytes()


def _install_requirements(requirements: Path, target: Path, architecture: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--requirement", str(requirements)]
    command += ["--target", str(target), "--python-version", "3.13"]
    for platform in ("manylinux2014", "manylinux_2_28"):  # what Lambda's Amazon Linux 2023 runs
        command += ["--platform", f"{platform}_{_MACHINES[architecture]}"]
    command.append("--only-binary=:all:")
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the builder's own list
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["pip failed"]
        raise InvalidRequest(f"the requirements in {requirements} cannot be installed: {last[0]}")
