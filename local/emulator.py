"""The AWS emulator: a process in a virtual environment of its own, enforcing the template's IAM policies."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import boto3
import httpx2
from botocore.config import Config

from local.errors import StackError
from local.processes import ProcessGroup
from local.state import STATE_FOLDER

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

PYTHON = STATE_FOLDER / "emulator" / "bin" / "python"
REGION = "us-east-1"
_LAUNCHER = Path(__file__).with_name("ministack_launcher.py")
_ACCOUNT_KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
"""The emulated account's root; what runs inside a function gets its role's credentials instead."""

_START_SECONDS = 30.0
_INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY")
"""Of our own environment. Nothing else: a stray AWS_* or PYTHON* variable would reach every function."""

type Service = Literal["cloudformation", "lambda", "s3", "secretsmanager", "sqs"]


def start(processes: ProcessGroup, port: int, folder: Path) -> str:
    """Start it on 127.0.0.1 and wait until it answers; returns its endpoint. StackProblem when it does not."""
    if not PYTHON.exists():
        raise StackError("the emulator is not installed: run `make .parlour/emulator/.installed`")
    scratch = folder / "emulator-scratch"
    shutil.rmtree(scratch, ignore_errors=True)  # what an earlier emulator's workers left there
    scratch.mkdir(parents=True)
    endpoint = f"http://127.0.0.1:{port}"
    command = [str(PYTHON), str(_LAUNCHER), str(STATE_FOLDER / "layers")]
    child = processes.start("emulator", command, _emulator_environment(port, scratch))
    processes.wait_until_ready(child, lambda: is_running(endpoint), _START_SECONDS)
    return endpoint


def is_running(endpoint: str) -> bool:
    """Whether an emulator answers there."""
    try:
        return httpx2.get(f"{endpoint}/_ministack/health", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


def client_environment(endpoint: str) -> dict[str, str]:
    """What a process needs in its environment to have the emulator for AWS, and no profile of this machine's."""
    return {
        **_ACCOUNT_KEYS,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


@overload
def client(service: Literal["cloudformation"], endpoint: str) -> "CloudFormationClient": ...
@overload
def client(service: Literal["lambda"], endpoint: str) -> "LambdaClient": ...
@overload
def client(service: Literal["s3"], endpoint: str) -> "S3Client": ...
@overload
def client(service: Literal["secretsmanager"], endpoint: str) -> "SecretsManagerClient": ...
@overload
def client(service: Literal["sqs"], endpoint: str) -> "SQSClient": ...
def client(service: Service, endpoint: str) -> object:
    """A client of the emulated account's root."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=_ACCOUNT_KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=_ACCOUNT_KEYS["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"mode": "standard", "total_max_attempts": 2}),
    )


def inherited_environment(surroundings: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a child of the stack may see; proxies are never asked for this machine."""
    kept = {name: surroundings[name] for name in _INHERITED_VARIABLES if name in surroundings}
    return {**kept, "NO_PROXY": "127.0.0.1,localhost"}


def _emulator_environment(port: int, scratch: Path) -> dict[str, str]:
    return {
        **inherited_environment(os.environ),  # noqa: TID251 - a launcher decides what its children see
        **_ACCOUNT_KEYS,
        "AUTH": "true",
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "TMPDIR": str(scratch),
        "S3_DATA_DIR": str(scratch / "s3"),
        "STATE_DIR": str(scratch / "state"),
        "LOG_LEVEL": "WARNING",
        "POWERTOOLS_LOG_LEVEL": "INFO",  # the functions' own; they would take the emulator's otherwise
    }
