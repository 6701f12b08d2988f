"""Before a deployment the account is asked for what the stack needs, by answers that fit AWS's own models."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from layers import preflight
from layers.preflight import SIZES, Account, Unfit, main, needed_concurrency

PARAMETERS = {name: str(value) for name, value in SIZES["S"].items()}
TITAN = {"modelId": "amazon.titan-embed-text-v2:0"}

type Answers = dict[str, list[tuple[str, Any]]]
type Ask = Callable[..., dict[str, str]]


def availability(*, region: str = "AVAILABLE", authorization: str = "AUTHORIZED") -> dict[str, Any]:
    return {
        "modelId": "m",
        "agreementAvailability": {"status": "AVAILABLE"},
        "authorizationStatus": authorization,
        "entitlementAvailability": "AVAILABLE",
        "regionAvailability": region,
    }


def stack(status: str) -> tuple[str, Any]:
    created = "2026-11-28T08:00:00Z"
    return "describe_stacks", {"Stacks": [{"StackName": "s", "CreationTime": created, "StackStatus": status}]}


def quota(limit: float) -> tuple[str, Any]:
    return "get_service_quota", {"Quota": {"Value": limit}}


def fitting() -> Answers:
    """The answers of an account that can take a new stack."""
    return {
        "cloudformation": [("describe_stacks", ("ValidationError", "Stack with id s does not exist"))],
        "lambda": [("get_account_settings", {"AccountLimit": {"ConcurrentExecutions": 1000}})],
        "rds": [("describe_db_engine_versions", {"DBEngineVersions": [{"EngineVersion": "16.11"}]})],
        "bedrock": [("get_foundation_model_availability", availability())],
        "ec2": [("describe_vpcs", {"Vpcs": [{}]}), ("describe_addresses", {"Addresses": [{}]})],
        "service-quotas": [quota(5.0), quota(5.0)],
        "sesv2": [],
    }


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run the checks against an account whose services give these answers, in their order."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setattr("time.sleep", lambda _: None)

    def run(answers: Answers, name: str = "parlour-staging", **parameters: str) -> dict[str, str]:
        clients = {}
        for service, replies in answers.items():
            client = boto3.client(service, region_name="eu-central-1")  # type: ignore[call-overload]
            stubber = Stubber(client)
            for operation, reply in replies:
                if isinstance(reply, tuple):
                    stubber.add_client_error(operation, *reply)
                else:
                    stubber.add_response(operation, reply)
            stubber.activate()
            clients[service] = client
        return preflight.preflight(Account("eu-central-1", clients.__getitem__), name, {**PARAMETERS, **parameters})

    return run


def test_an_account_that_fits_is_deployed_to_with_the_sizes_parameters(
    ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(fitting()) == PARAMETERS
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("executions", [100, 370, 499])
def test_a_small_quota_reserves_nothing(ask: Ask, capsys: pytest.CaptureFixture[str], executions: int) -> None:
    answers = fitting() | {"lambda": [("get_account_settings", {"AccountLimit": {"ConcurrentExecutions": executions}})]}
    assert ask(answers) == {**PARAMETERS, "ReserveConcurrency": "false"}
    assert f"allows {executions} concurrent Lambda executions of the 500" in capsys.readouterr().err


def test_sizes_want_more_the_larger_they_are() -> None:
    needed = [needed_concurrency({name: str(value) for name, value in size.items()}) for size in SIZES.values()]
    assert needed == sorted(set(needed))


@pytest.mark.parametrize(
    ("service", "replies", "parameters", "problem"),
    [
        ("lambda", [("get_account_settings", {"AccountLimit": {"ConcurrentExecutions": 10}})], {}, "L-B99A9384"),
        ("rds", [("describe_db_engine_versions", {"DBEngineVersions": [{"EngineVersion": "16.14"}]})], {}, "of 16.14"),
        (
            "bedrock",
            [("get_foundation_model_availability", ("ResourceNotFoundException", "no such model"))],
            {},
            "has no embedding model amazon.titan-embed-text-v2:0",
        ),
        (
            "bedrock",
            [("get_foundation_model_availability", availability(region="NOT_AVAILABLE"))],
            {},
            "another EmbeddingModel",
        ),
        ("ec2", [("describe_vpcs", {"Vpcs": [{}] * 5})], {}, "all 5 virtual networks"),
        (
            "ec2",
            [("describe_vpcs", {"Vpcs": []}), ("describe_addresses", {"Addresses": [{}] * 5})],
            {},
            "all 5 elastic addresses",
        ),
        (
            "sesv2",
            [("get_email_identity", ("NotFoundException", "none"))],
            {"MailFrom": "desk@example.org"},
            "desk@example.org is no verified identity",
        ),
        ("cloudformation", [stack("UPDATE_IN_PROGRESS")], {}, "by somebody else"),
    ],
)
def test_a_deployment_that_would_fail_is_refused_before_the_build(
    ask: Ask, service: str, replies: list[tuple[str, Any]], parameters: dict[str, str], problem: str
) -> None:
    with pytest.raises(Unfit, match=problem):
        ask(fitting() | {service: replies}, **parameters)


def test_a_name_that_is_too_long_is_refused(ask: Ask) -> None:
    with pytest.raises(Unfit, match="has 40 characters: choose one of 39 at most"):
        ask(fitting(), name="p" * 40)


def test_what_a_failed_first_deployment_left_is_deleted_and_a_broken_rollback_is_finished(
    ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    deletion = [stack("ROLLBACK_COMPLETE"), ("delete_stack", {}), stack("DELETE_COMPLETE")]
    assert ask(fitting() | {"cloudformation": deletion}) == PARAMETERS
    assert "the first deployment of parlour-staging failed; deleting" in capsys.readouterr().err
    stuck = [stack("UPDATE_ROLLBACK_FAILED"), ("continue_update_rollback", {}), stack("UPDATE_ROLLBACK_COMPLETE")]
    assert ask(fitting() | {"cloudformation": stuck}) == PARAMETERS
    assert "was not rolled back; finishing" in capsys.readouterr().err


def test_a_check_that_the_credentials_may_not_make_stops_nothing(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    refused = [("get_foundation_model_availability", ("AccessDeniedException", "no"))]
    assert ask(fitting() | {"bedrock": refused}) == PARAMETERS
    assert capsys.readouterr().err == "parlour: these credentials may not ask for models: not checked\n"


def test_warns_of_claude_without_a_subscription_and_of_mail_in_its_sandbox(
    ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    models = [
        ("get_foundation_model_availability", availability()),
        (
            "list_foundation_models",
            {"modelSummaries": [{"modelArn": "arn:aws:bedrock:a::m", "modelId": "anthropic.c"}]},
        ),
        ("get_foundation_model_availability", availability(authorization="NOT_AUTHORIZED")),
    ]
    mail = [
        ("get_email_identity", {"VerifiedForSendingStatus": True}),
        ("get_account", {"ProductionAccessEnabled": False}),
    ]
    ask(fitting() | {"bedrock": models, "sesv2": mail}, BedrockClaude="true", MailFrom="desk@example.org")
    warnings = capsys.readouterr().err
    assert "has not subscribed to Claude in Bedrock" in warnings
    assert "SES is in its sandbox" in warnings


def test_the_command_names_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parlour-staging", "XL"]) == 2
    assert "S|M|L" in capsys.readouterr().err


def test_an_aws_that_cannot_be_asked_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert main(["parlour-staging", "S"]) == 1
    assert capsys.readouterr().err.startswith("parlour: not deployed: AWS cannot be asked: ")
