"""The last step of a deployment says what was applied, and fails when the function did."""

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

import boto3
import pytest
from moto import mock_aws

from layers import migrate as migrate_command
from layers.migrate import MigrationFailed, main, migrate, protect_from_deletion

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


class Lambda:
    """Answers every invocation with the same payload."""

    def __init__(self, payload: object, *, failed: bool) -> None:
        self._answer = {
            "Payload": io.BytesIO(json.dumps(payload).encode()),
            **({"FunctionError": "Unhandled"} if failed else {}),
        }
        self.invoked: list[str] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, object]:  # noqa: N803 - boto3's names
        self.invoked.append(FunctionName)
        return self._answer


def client(payload: object, *, failed: bool = False) -> tuple[Lambda, "LambdaClient"]:
    fake = Lambda(payload, failed=failed)
    return fake, cast("LambdaClient", fake)


def test_a_line_comes_back_for_each_migration_and_index() -> None:
    fake, functions = client({"applied": ["0001_schema"], "indexed": ["titan-512"]})
    assert migrate(functions, "parlour-staging-migrate") == [
        "applied 0001_schema",
        "indexed the vectors of titan-512",
    ]
    assert fake.invoked == ["parlour-staging-migrate"]


def test_what_the_function_raised_is_said() -> None:
    _, functions = client({"errorType": "MigrationConflict", "errorMessage": "migration 0001 changed"}, failed=True)
    with pytest.raises(MigrationFailed, match="MigrationConflict: migration 0001 changed"):
        migrate(functions, "parlour-staging-migrate")


def test_a_deployed_cluster_is_protected_from_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        cloudformation, rds = boto3.client("cloudformation"), boto3.client("rds")
        rds.create_db_cluster(
            DBClusterIdentifier="c-1", Engine="aurora-postgresql", MasterUsername="o", ManageMasterUserPassword=True
        )
        outputs = {"ClusterId": {"Value": "c-1"}, "ApiId": {"Value": "a"}}
        topic = {"Type": "AWS::SNS::Topic"}
        cloudformation.create_stack(
            StackName="parlour-staging",
            TemplateBody=json.dumps({"Resources": {"AlarmTopic": topic}, "Outputs": outputs}),
        )
        protect_from_deletion(cloudformation, rds, "parlour-staging")
        (cluster,) = rds.describe_db_clusters(DBClusterIdentifier="c-1")["DBClusters"]
        assert cluster["DeletionProtection"]


def test_the_command_needs_the_name_of_a_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().err


def test_an_aws_that_cannot_be_asked_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert main(["parlour-staging"]) == 1
    assert capsys.readouterr().err.startswith("parlour: deployed, but the database is not finished: ")


def test_the_command_is_more_patient_than_the_function() -> None:
    (seconds,) = re.findall(
        r"^  MigrateFunction:.*?^      Timeout: (\d+)", Path("template.yaml").read_text(), re.DOTALL | re.MULTILINE
    )
    assert int(seconds) < vars(migrate_command._PATIENT)["read_timeout"]
