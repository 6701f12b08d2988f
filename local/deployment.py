"""`sam build` and `sam deploy` of the one template, to the emulator. A build that nothing changed is not made again."""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from layers.compile import LAYERS
from layers.hash import DEPLOYED, code_hash
from local import emulator
from local.command_runner import ProgressCallback, run_command
from local.errors import StackError
from local.lambda_runtime import FunctionCode
from local.state import ROOT, STATE_FOLDER

SAM = STATE_FOLDER / "sam" / "bin" / "sam"
ARCHITECTURES = ("arm64", "x86_64")
STACK_NAME = "parlour"
_BUCKET = "parlour-artifacts"
_KEPT_BUILDS = 3
_SINGLE_FUNCTION_LAYERS = {"ExtractionLayer": "file_reader"}
"""Layers that only one function has."""

_BUILT_FROM = (*DEPLOYED, "layers/compile.py", "template.yaml", "requirements/sam.txt")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A stack in the emulator.

    endpoint  the emulator's, for every AWS client.
    api_url   the deployed REST API, without a slash at the end.
    outputs   the template's, by name. Its ApiUrl is AWS's form of the address; use api_url here.
    """

    endpoint: str
    api_url: str
    outputs: dict[str, str]


def host_architecture() -> str:
    """What this machine's Python runs native packages of, as Lambda calls it."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"


def build(architecture: str, report_progress: ProgressCallback) -> Path:
    """Build the functions and both layers; returns the built template. StackProblem with the reason it failed."""
    folder = STATE_FOLDER / "build" / architecture
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _build_if_changed(architecture, folder, report_progress)


def _build_if_changed(architecture: str, folder: Path, say: ProgressCallback) -> Path:
    """Each build has a folder of its own, so that nobody's is changed while they use it; the latest few are kept."""
    fingerprint = hashlib.sha256(f"{architecture} {code_hash(names=_BUILT_FROM)}".encode()).hexdigest()
    done, unfinished = folder / f"built-{fingerprint[:16]}", folder / "unfinished"
    if done.exists():
        say("reusing the last build; nothing changed")
        return done / "template.yaml"
    shutil.rmtree(unfinished, ignore_errors=True)
    _run_sam(
        "build",
        f"--template-file={ROOT / 'template.yaml'}",
        f"--build-dir={unfinished}",
        f"--cache-dir={folder / 'cache'}",
        "--cached",
        f"--parameter-overrides=Architecture={architecture}",
        log=STATE_FOLDER / "logs" / f"sam-build-{architecture}.log",
        say=say,
    )
    say("Compiling the layers to bytecode")
    compiling: list[str | Path] = [sys.executable, ROOT / "layers" / "compile.py", unfinished]
    run_command(compiling, _sam_environment({}), STATE_FOLDER / "logs" / f"compile-{architecture}.log", say)
    _zip_layers(unfinished)
    unfinished.rename(done)
    for old in sorted(folder.glob("built-*"), key=lambda path: path.stat().st_mtime)[:-_KEPT_BUILDS]:
        shutil.rmtree(old, ignore_errors=True)
    return done / "template.yaml"


def _zip_layers(built: Path) -> None:
    """Zip each layer for `sam deploy`, which uploads a zip as it is and zips a folder again for every stack."""
    template = built / "template.yaml"
    text = template.read_text("utf-8")
    for layer in LAYERS:
        shutil.make_archive(str(built / layer), "zip", built / layer)
        text = text.replace(f"ContentUri: {layer}\n", f"ContentUri: {layer}.zip\n")
    template.write_text(text, "utf-8")


def deploy(
    endpoint: str, built: Path, parameters: Mapping[str, str], folder: Path, report_progress: ProgressCallback
) -> Deployment:
    """Deploy what was built, with these parameters and the laptop's own. StackProblem with the reason it failed.

    Writes stack.json in `folder`: where `parlour invoke`, `parlour secrets` and `parlour doctor` find the stack.
    """
    values = {**parameters, "Cloud": "false", "Environment": "local", "CodeHash": code_hash()}
    file = folder / "parameters.yaml"
    _write_private(file, {"Architecture": host_architecture(), **values})
    emulator.client("s3", endpoint).create_bucket(Bucket=_BUCKET)
    _run_sam(
        "deploy",
        f"--template-file={built}",
        f"--stack-name={STACK_NAME}",
        f"--s3-bucket={_BUCKET}",
        f"--parameter-overrides=file://{file}",
        "--capabilities=CAPABILITY_IAM",
        "--no-confirm-changeset",
        "--no-fail-on-empty-changeset",
        "--config-env=laptop",
        log=folder / "logs" / "sam-deploy.log",
        say=report_progress,
        environment=emulator.client_environment(endpoint),
    )
    deployed = _read_deployment(endpoint)
    account = {"stack_name": STACK_NAME, "aws": emulator.client_environment(endpoint)}
    _write_private(folder / "stack.json", {**asdict(deployed), **account})
    return deployed


def _read_deployment(endpoint: str) -> Deployment:
    stack = emulator.client("cloudformation", endpoint).describe_stacks(StackName=STACK_NAME)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
    return Deployment(endpoint, f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/live", outputs)


def _run_sam(
    verb: str, *arguments: str, log: Path, say: ProgressCallback, environment: Mapping[str, str] | None = None
) -> None:
    """Run the SAM CLI; StackProblem with its own last words when it fails."""
    if not SAM.exists():
        raise StackError("the SAM CLI is not installed: run `make .parlour/sam/.installed`")
    run_command([SAM, verb, *arguments], _sam_environment(environment or {}), log, say)


def _sam_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Ours without AWS's: no profile, region or key of this machine's. The build runs this Python's pip."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAM_"))}  # noqa: TID251
    path = f"{SAM.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": emulator.REGION, **more}


def _write_private(file: Path, content: Mapping[str, object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(json.dumps(content, indent=2) + "\n")


def function_resource(function: str) -> str:
    """The template's name for the function of that folder: http_api is HttpApiFunction."""
    return "".join(word.capitalize() for word in function.split("_")) + "Function"


def function_code(built: Path, function: str) -> FunctionCode:
    """A function, by the name of its folder, as it was built."""
    layers = [
        layer for layer in LAYERS if layer not in _SINGLE_FUNCTION_LAYERS or _SINGLE_FUNCTION_LAYERS[layer] == function
    ]
    return FunctionCode(
        built.parent / function_resource(function), tuple(built.parent / layer / "python" for layer in layers)
    )


def main() -> None:
    """`python -m local.deployment`: build for this machine and say where."""
    sys.stdout.write(f"{build(host_architecture(), lambda line: print(line, flush=True))}\n")


if __name__ == "__main__":
    main()
