"""The AWS account of a deployment: the laptop's emulated one, or that of a profile."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import boto3
import typer
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from parlour.cli.api_client import ApiClient
from parlour.infra.errors import Misconfigured
from parlour.infra.secrets import SecretsManager
from parlour.packs.function_deployment import DeployedStack

_CONFIG = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2})

ProfileOption = Annotated[str, typer.Option(envvar="AWS_PROFILE", help="AWS profile of the deployment's account.")]
RegionOption = Annotated[str, typer.Option(help="AWS region; without it, the profile's.")]


@dataclass(frozen=True, slots=True)
class AwsAccount:
    """An account that boto3 reaches with these arguments of a client; the laptop's names its stack and its API."""

    arguments: Mapping[str, str]
    profile: str = ""
    stack_name: str = ""
    api_url: str = ""

    def open_secrets(self) -> SecretsManager:
        """Return the account's secret store. Raises Misconfigured without a region or the profile."""
        return SecretsManager(self._client("secretsmanager"))

    def describe_stack(self, name: str) -> str:
        """Return the status of a stack. Raises Misconfigured when it cannot be read."""
        try:
            stacks = self._client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        except (BotoCoreError, ClientError) as error:
            raise Misconfigured(f"the stack {name} cannot be read: {error}") from error
        return str(stacks[0]["StackStatus"])

    def open_lambda(self) -> Any:
        """Return a client of Lambda. Raises Misconfigured without a region or the profile."""
        return self._client("lambda")

    def read_deployed_stack(self, name: str) -> DeployedStack:
        """Return what a pack's function needs to know of a stack. Raises Misconfigured when it cannot be read."""
        try:
            found = self._client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        except (BotoCoreError, ClientError) as error:
            raise Misconfigured(f"the stack {name} cannot be read: {error}") from error
        outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
        if "PackFunctionRoleArn" not in outputs:
            raise Misconfigured(f"the stack {name} is of an older release; deploy it again")
        return DeployedStack(name, outputs["PackFunctionRoleArn"])

    def _client(self, service: str) -> Any:
        try:
            session = boto3.Session(profile_name=self.profile or None)
            return session.client(service, config=_CONFIG, **self.arguments)  # type: ignore[call-overload]
        except BotoCoreError as error:
            raise Misconfigured(f"{error}; give --profile and --region of the deployment's account") from error


def find_account(target: ApiClient, profile: str, region: str) -> AwsAccount:
    """Return the laptop's account for the local stack, else the one that the profile and the region name."""
    if target.stack_file is None:
        return AwsAccount({"region_name": region} if region else {}, profile)
    try:
        found = json.loads(target.stack_file.read_text("utf-8"))
        aws = found["aws"]
        arguments = {
            "endpoint_url": found["endpoint"],
            "region_name": aws["AWS_REGION"],
            "aws_access_key_id": aws["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": aws["AWS_SECRET_ACCESS_KEY"],
        }
        return AwsAccount(arguments, stack_name=found["stack_name"], api_url=found["api_url"])
    except (OSError, ValueError, KeyError, TypeError):
        raise Misconfigured(f"{target.stack_file} is missing or old; start the stack with `make run`") from None
