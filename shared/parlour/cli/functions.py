"""The code of a pack: put it where Parlour calls it."""

from pathlib import Path
from typing import Annotated

import typer

from parlour.cli import terminal
from parlour.cli.api_client import ApiClient, get_api_client
from parlour.cli.aws_account import AwsAccount, ProfileOption, RegionOption, find_account
from parlour.packs import folder as pack_folder
from parlour.packs.function_deployment import deploy_functions
from parlour.packs.validate import validate

app = typer.Typer(help="The Python code of a pack: tools and agents.", no_args_is_help=True)


@app.callback()
def describe_group() -> None:
    """Keep `deploy` a command of the group, also while it is the only one."""


@app.command(
    epilog="Examples: parlour functions deploy packs/mine; parlour functions deploy packs/mine --stack parlour"
)
def deploy(
    context: typer.Context,
    pack: Annotated[Path, typer.Argument(help="The folder that contains tenant.yaml and functions/.")],
    stack: Annotated[str, typer.Option(help="The name of the CloudFormation stack.")] = "parlour",
    profile: ProfileOption = "",
    region: RegionOption = "",
) -> None:
    """Deploy the pack's functions/ folder as a Lambda function of its own. Apply the pack as well."""
    account = find_account(get_api_client(context), profile, region)
    terminal.print_line(_deploy(account, account.stack_name or stack, pack))


def deploy_to_laptop(target: ApiClient, pack: Path) -> str:
    """Deploy to the local stack; returns what to print."""
    account = find_account(target, "", "")
    return _deploy(account, account.stack_name, pack)


def _deploy(account: AwsAccount, stack: str, pack: Path) -> str:
    tenant = validate(pack_folder.read_folder(pack)).tenant.slug
    name = deploy_functions(account.open_lambda(), account.read_deployed_stack(stack), tenant, pack)
    return f"{name} runs the code in {pack}/functions"
