"""The template agrees with the functions, their settings and itself."""

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import cfnlint  # type: ignore[import-untyped]
import pytest
from cfnlint.decode import cfn_yaml  # type: ignore[import-untyped]

from layers.preflight import MAX_STACK_NAME, SIZES
from parlour.api.event_stream import LIVE_TIMING
from parlour.conversations.store import BURST_WINDOW
from parlour.infra import settings
from parlour.infra.settings import Settings

type Json = dict[str, Any]

FUNCTIONS = sorted(path.parent.name for path in Path("functions").glob("*/handler.py"))
NEEDS_THE_CLOUD = ("AWS::EC2::", "AWS::RDS::")

#: Characters of what AWS makes of a resource beside the stack's name: a queue's URL, a secret's ARN, a database's host.
AWS_NAMES = {"Queue": 78, "Secret": 76, "Cluster": 80, "Proxy": 80}

ALLOWED_ACTIONS = {
    "ses:SendEmail",
    "bedrock:InvokeModel",
    "bedrock:InvokeModelWithResponseStream",
    "lambda:InvokeFunction",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
    "secretsmanager:DescribeSecret",
    "secretsmanager:GetSecretValue",
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
    "sqs:SendMessage*",
}
TENANTS_KEYS = ":secret:parlour/${AWS::StackName}/tenants/*"
"""The tenants' own keys, named by their packs."""

PACK_FUNCTIONS = ":function:${AWS::StackName}-pack-*"
"""The code of packs: a call names the function of its turn's tenant."""

ALLOWED_PATTERNS = {
    "OutboundFunction": {TENANTS_KEYS},
    "ReceiverFunction": {TENANTS_KEYS, "${MediaBucket.Arn}/*"},
    "OrchestratorFunction": {
        TENANTS_KEYS,
        PACK_FUNCTIONS,
        "foundation-model/anthropic.*",
        ":inference-profile/*",
        "${MediaBucket.Arn}/*",
    },
    "ToolDispatcherFunction": {TENANTS_KEYS, PACK_FUNCTIONS},
    "HttpApiFunction": {TENANTS_KEYS, "${FilesBucket.Arn}/*", "${MediaBucket.Arn}/*"},
    "IngestFunction": {
        "${FilesBucket.Arn}/*",
        "${FilesBucket.Arn}/extracted/*",
        "foundation-model/anthropic.*",
        ":inference-profile/*",
    },
    "PulseWriterFunction": {"foundation-model/anthropic.*", ":inference-profile/*"},
    "MemoryExtractorFunction": {
        "${MediaBucket.Arn}/tenant/*/archive/*",
        "foundation-model/anthropic.*",
        ":inference-profile/*",
    },
}
"""Resources that are named by a pattern, by the function that has a reason to."""

GIVEN_LESS = {
    "http_stream": {
        "secretsmanager:GetSecretValue": {"DatabaseSecret", "TokenSecret", "OperatorSecret"},
        "sqs:SendMessage*": {"TurnsMessagingQueue", "TurnsWebQueue", "ToolsQueue", "WakeupsQueue"},
    }
}
"""Functions that may do less than their variables say: the routes that reach them do not need the rest."""

UNORDERED = {"WakeupsQueue", "EmbeddingQueue", "PulseWakeupsQueue", "PulseQueue", "MemoryQueue"}
"""Queues whose messages have a delay each, which FIFO queues cannot give them, or need no order."""


@pytest.fixture(scope="module")
def template() -> Json:
    loaded: Json = cfn_yaml.load("template.yaml")
    return loaded


def resource_name(function: str) -> str:
    return "".join(word.capitalize() for word in function.split("_")) + "Function"


def of_type(template: Json, kind: str) -> Json:
    return {name: entry for name, entry in template["Resources"].items() if entry["Type"] == kind}


def properties(template: Json, function: str) -> Json:
    found: Json = template["Resources"][resource_name(function)]["Properties"]
    return found


def variables(template: Json, function: str) -> Json:
    own = properties(template, function).get("Environment", {"Variables": {}})["Variables"]
    return {**template["Globals"]["Function"]["Environment"]["Variables"], **own}


def statements(template: Json, function: str) -> Iterator[tuple[list[str], list[Any]]]:
    for policy in properties(template, function).get("Policies", []):
        for statement in policy["Statement"]:
            assert statement["Effect"] == "Allow"
            yield _listed(statement["Action"]), _listed(statement["Resource"])


def allowed(template: Json, function: str, action: str) -> set[str]:
    """The template's resources on which the function may do `action`."""
    granted = [
        resource for actions, resources in statements(template, function) if action in actions for resource in resources
    ]
    return set(references(granted)) & set(template["Resources"])


def references(value: Any) -> Iterator[str]:
    """Yield the names of the parameters and resources that a value refers to."""
    if isinstance(value, dict):
        for function, argument in value.items():
            if function == "Ref":
                yield str(argument).removesuffix(".Alias")
            elif function == "Fn::GetAtt":
                yield str(argument[0] if isinstance(argument, list) else argument.partition(".")[0])
            elif function == "Fn::Sub":
                text = argument if isinstance(argument, str) else argument[0]
                yield from re.findall(r"\$\{(\w+)[.}]", text)
            yield from references(argument)
    elif isinstance(value, list):
        for entry in value:
            yield from references(entry)


def created_before(template: Json, name: str) -> set[str]:
    """The resources that CloudFormation creates before the one of that name, by references and DependsOn."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        entry = template["Resources"][waiting.pop()]
        needed = {*references(entry.get("Properties", {})), *_listed(entry.get("DependsOn", []))}
        needed |= set(references(template["Globals"])) if entry["Type"] == "AWS::Serverless::Function" else set()
        added = needed & set(template["Resources"]) - found
        found |= added
        waiting += added
    return found


def mappings(template: Json, function: str) -> dict[str, Json]:
    """What the function is fed from: queue to mapping."""
    found = {}
    for mapping in of_type(template, "AWS::Lambda::EventSourceMapping").values():
        target = mapping["Properties"]["FunctionName"]
        name = target["Fn::GetAtt"][0] if "Fn::GetAtt" in target else target["Ref"].removesuffix(".Alias")
        if name == resource_name(function):
            found[mapping["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]] = mapping["Properties"]
    return found


def queues(template: Json) -> dict[str, Json]:
    """The working queues; dead letters are the others."""
    every = of_type(template, "AWS::SQS::Queue")
    return {name: entry["Properties"] for name, entry in every.items() if "RedrivePolicy" in entry["Properties"]}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_every_folder_of_functions_is_in_the_template_and_nothing_else_is(template: Json) -> None:
    assert set(of_type(template, "AWS::Serverless::Function")) == set(map(resource_name, FUNCTIONS))
    for function in FUNCTIONS:
        assert properties(template, function)["CodeUri"] == f"functions/{function}/"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_is_given_the_variables_that_its_settings_read(template: Json, function: str) -> None:
    wanted: type[Settings] = getattr(settings, resource_name(function).removesuffix("Function") + "Settings")
    assert set(variables(template, function)) == {name.upper() for name in wanted.model_fields}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_read_its_secrets_and_no_others(template: Json, function: str) -> None:
    given = {
        reference
        for name, value in variables(template, function).items()
        if name.endswith("_SECRET")
        for reference in references(value)
        if reference in template["Resources"]
    }
    action = "secretsmanager:GetSecretValue"
    assert allowed(template, function, action) == GIVEN_LESS.get(function, {}).get(action, given)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_send_to_the_queues_it_knows_and_no_others(template: Json, function: str) -> None:
    given = {value["Ref"] for name, value in variables(template, function).items() if name.endswith("_QUEUE_URL")}
    action = "sqs:SendMessage*"
    assert allowed(template, function, action) == GIVEN_LESS.get(function, {}).get(action, given)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_consume_the_queues_that_feed_it_or_that_it_redrives_and_no_others(
    template: Json, function: str
) -> None:
    fed = set(mappings(template, function))
    given = variables(template, function).items()
    letters = {value["Ref"] for name, value in given if name.endswith("_DEAD_LETTERS_URL")}
    redriven = set() if function in GIVEN_LESS else letters
    for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
        assert allowed(template, function, action) == fed | redriven
    assert allowed(template, function, "sqs:ChangeMessageVisibility") == fed | redriven


@pytest.mark.parametrize("function", GIVEN_LESS)
def test_a_function_that_is_given_less_has_no_other_permission(template: Json, function: str) -> None:
    granted = {action for actions, _ in statements(template, function) for action in actions}
    assert granted == set(GIVEN_LESS[function])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_policy_allows_more_than_it_names(template: Json, function: str) -> None:
    for actions, resources in statements(template, function):
        assert set(actions) <= ALLOWED_ACTIONS
        for resource in resources:
            text = resource.get("Fn::Sub", "") if isinstance(resource, dict) else resource
            reasoned = any(text.endswith(pattern) for pattern in ALLOWED_PATTERNS.get(resource_name(function), ()))
            assert "*" not in text or reasoned, f"{function} may act on {text}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_keeps_its_logs_for_a_stated_time(template: Json, function: str) -> None:
    group = properties(template, function)["LoggingConfig"]["LogGroup"]["Ref"]
    assert template["Resources"][group]["Properties"]["RetentionInDays"] == {"Ref": "LogDays"}


def test_what_parses_the_files_of_strangers_has_nothing_to_steal(template: Json) -> None:
    reader = properties(template, "file_reader")
    assert reader.keys() & {"VpcConfig", "Environment", "Policies", "Role"} == set()
    assert allowed(template, "ingest", "lambda:InvokeFunction") == {"FileReaderFunction"}
    for function in FUNCTIONS:
        layers = properties(template, function).get("Layers", [])
        assert ({"Ref": "ExtractionLayer"} in layers) == (function == "file_reader")


def test_the_code_of_packs_may_do_nothing_but_log(template: Json) -> None:
    role = template["Resources"]["PackFunctionRole"]["Properties"]
    statements = [one for policy in role["Policies"] for one in policy["PolicyDocument"]["Statement"]]
    assert [action.partition(":")[0] for one in statements for action in one["Action"]] == ["logs"] * 3
    assert role.keys() == {"AssumeRolePolicyDocument", "Policies"}


def test_the_functions_on_the_path_of_a_person_start_from_a_snapshot(template: Json) -> None:
    started = {
        name
        for name, entry in of_type(template, "AWS::Serverless::Function").items()
        if "SnapStart" in entry["Properties"]
    }
    assert started == {"InboundFunction", "OrchestratorFunction", "HttpApiFunction"}


def test_a_function_with_a_snapshot_is_published_when_the_code_changes_and_called_by_its_alias(template: Json) -> None:
    for name, entry in of_type(template, "AWS::Serverless::Function").items():
        if "SnapStart" in entry["Properties"]:
            assert entry["Properties"]["AutoPublishAlias"] == "live"
            assert entry["Properties"]["AutoPublishCodeSha256"] == {"Ref": "CodeHash"}
            for mapping in of_type(template, "AWS::Lambda::EventSourceMapping").values():
                assert mapping["Properties"]["FunctionName"] != {"Fn::GetAtt": [name, "Arn"]}


def test_every_queue_but_those_with_delays_keeps_order_and_each_gives_up_into_its_own_after_five_or_more_deliveries(
    template: Json,
) -> None:
    dead = {}
    for name, queue in queues(template).items():
        target = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        dead[name] = target
        letters = template["Resources"][target]["Properties"]
        assert queue.get("FifoQueue", False) is letters.get("FifoQueue", False) is (name not in UNORDERED)
        assert queue["RedrivePolicy"]["maxReceiveCount"] >= 5
        assert letters["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert len(set(dead.values())) == len(dead)
    assert set(dead) | set(dead.values()) == set(of_type(template, "AWS::SQS::Queue"))


def test_every_queue_has_an_alarm_on_its_dead_letters_and_one_on_its_age(template: Json) -> None:
    watched = {
        (alarm["MetricName"], alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0])
        for alarm in (entry["Properties"] for entry in of_type(template, "AWS::CloudWatch::Alarm").values())
        if alarm.get("Namespace") == "AWS/SQS"
    }
    for name, queue in queues(template).items():
        target = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        assert ("ApproximateNumberOfMessagesVisible", target) in watched
        assert ("ApproximateAgeOfOldestMessage", name) in watched


def test_every_alarm_tells_somebody_and_says_what_it_means(template: Json) -> None:
    for alarm in of_type(template, "AWS::CloudWatch::Alarm").values():
        assert alarm["Properties"]["AlarmActions"] in ([{"Ref": "AlarmTopic"}], [{"Ref": "NoticeTopic"}])
        assert alarm["Properties"]["AlarmDescription"].endswith(".")


def test_an_alarm_on_a_metric_of_ours_watches_one_that_is_counted_with_the_same_dimensions(template: Json) -> None:
    counted = _counted()
    watched = [
        entry["Properties"]
        for entry in of_type(template, "AWS::CloudWatch::Alarm").values()
        if entry["Properties"].get("Namespace") == "Parlour"
    ]
    assert "UnknownNumber" in {alarm["MetricName"] for alarm in watched}
    for alarm in watched:
        dimensions = frozenset(dimension["Name"] for dimension in alarm["Dimensions"]) - {"service"}
        assert dimensions in counted[alarm["MetricName"]]


def _counted() -> dict[str, set[frozenset[str]]]:
    """The metrics that the package counts, by name, each with the dimensions given where it is counted."""
    found: dict[str, set[frozenset[str]]] = {}
    for path in Path("shared/parlour").rglob("*.py"):
        for name, dimensions in re.findall(r"log\.count\(\"(\w+)\"(.*)\)", path.read_text("utf-8")):
            found.setdefault(name, set()).add(frozenset(re.findall(r"(\w+)=", dimensions)))
    return found


def test_api_gateway_lets_a_stream_last_as_long_as_its_function(template: Json) -> None:
    stream = properties(template, "http_stream")
    for event in stream["Events"].values():
        assert event["Properties"]["ResponseTransferMode"] == "RESPONSE_STREAM"
        assert event["Properties"]["TimeoutInMillis"] == 1000 * stream["Timeout"]
    assert stream["Timeout"] > LIVE_TIMING.max_seconds


def test_a_visibility_is_as_short_as_aws_admits_where_workers_renew_it(template: Json) -> None:
    for function in FUNCTIONS:
        renews = "is_renewed=True" in Path(f"functions/{function}/handler.py").read_text("utf-8")
        for name in mappings(template, function):
            seconds, limit = queues(template)[name]["VisibilityTimeout"], properties(template, function)["Timeout"]
            assert (seconds == limit) if renews else (seconds >= limit + 30), name


def test_a_burst_waits_two_seconds_on_messaging_and_none_on_the_web(template: Json) -> None:
    assert {name: queue.get("DelaySeconds", 0) for name, queue in queues(template).items()} == {
        "IntakeQueue": 0,
        "TurnsMessagingQueue": 2,
        "TurnsWebQueue": 0,
        "ToolsQueue": 0,
        "OutboxQueue": 0,
        "WakeupsQueue": 0,
        "EmbeddingQueue": 0,
        "PulseQueue": 0,
        "PulseWakeupsQueue": 0,
        "MemoryQueue": 0,
        "IngestQueue": 0,
    }
    assert timedelta(seconds=2) == BURST_WINDOW


def test_turns_come_one_at_a_time_and_only_failed_messages_come_again(template: Json) -> None:
    fed = {queue: mapping for function in FUNCTIONS for queue, mapping in mappings(template, function).items()}
    assert set(fed) == set(queues(template))
    assert {queue: mapping["BatchSize"] for queue, mapping in fed.items()} == {
        "IntakeQueue": 10,
        "TurnsMessagingQueue": 1,
        "TurnsWebQueue": 1,
        "ToolsQueue": 1,
        "OutboxQueue": 1,
        "WakeupsQueue": 10,
        "EmbeddingQueue": 1,
        "PulseQueue": 1,
        "PulseWakeupsQueue": 10,
        "MemoryQueue": 1,
        "IngestQueue": 1,
    }
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in fed.values())


def test_what_only_the_cloud_can_do_hangs_on_a_condition(template: Json) -> None:
    for name, entry in template["Resources"].items():
        if entry["Type"].startswith(NEEDS_THE_CLOUD):
            assert entry.get("Condition") in {"InCloud", "WithProxy", "WithReader"}, name


def test_nothing_that_needs_the_schema_is_created_or_updated_before_it(template: Json) -> None:
    for function in FUNCTIONS:
        if "DATABASE_SECRET" in variables(template, function) and function != "migrate":
            assert "Schema" in created_before(template, resource_name(function)), function
    assert "Schema" in created_before(template, "ProxyTarget")  # a proxy waits until its role may sign in


def test_the_schema_comes_after_all_that_its_migrations_and_its_answer_need(template: Json) -> None:
    before = created_before(template, "Schema")
    assert {"ClusterInstance", "DatabaseSecret", "DatabaseFromFunctions", "MigrateFunction", "MigrateLogs"} <= before
    assert {"PrivateDefaultRoute", "PrivateSubnetARoutes", "PrivateSubnetBRoutes", "ObjectsEndpoint"} <= before
    assert [name for name in before if name.endswith("Function")] == ["MigrateFunction"]
    schema = template["Resources"]["Schema"]["Properties"]
    assert schema["CodeHash"] == {"Ref": "CodeHash"}  # every release is a change, so every release is migrated
    assert schema["ServiceTimeout"] > properties(template, "migrate")["Timeout"]


def test_data_has_a_deletion_policy_and_a_failed_first_deployment_rolls_back(template: Json) -> None:
    policies = {
        name: (entry.get("DeletionPolicy"), entry.get("UpdateReplacePolicy"))
        for name, entry in template["Resources"].items()
        if entry["Type"] in {"AWS::S3::Bucket", "AWS::RDS::DBCluster"}
    }
    assert policies == {
        "MediaBucket": ("RetainExceptOnCreate", "Retain"),
        "FilesBucket": ("RetainExceptOnCreate", "Retain"),
        "Cluster": ("Snapshot", "Snapshot"),
    }
    assert (
        "DeletionProtection" not in template["Resources"]["Cluster"]["Properties"]
    )  # layers/migrate.py switches it on


def test_what_has_a_name_has_the_stacks_in_it(template: Json) -> None:
    """Two stacks in one account and region do not meet."""
    keys = {"Name", "FunctionName", "QueueName", "TopicName", "LogGroupName", "DBProxyName", "AlarmName"}
    for name, entry in template["Resources"].items():
        for key in keys & set(entry.get("Properties", {})):
            value = entry["Properties"][key]
            named_by_the_stack = {"AWS::StackName", *template["Resources"]}
            assert named_by_the_stack & set(references(value)) or "${AWS::StackName}" in str(value), f"{name}: {key}"


@pytest.mark.parametrize("size", SIZES)
def test_a_size_sets_parameters_that_the_template_allows(template: Json, size: str) -> None:
    for name, value in SIZES[size].items():
        parameter = template["Parameters"][name]
        assert parameter["MinValue"] <= value <= parameter.get("MaxValue", value), name
    assert SIZES["S"] == {name: template["Parameters"][name]["Default"] for name in SIZES["S"]}
    assert SIZES[size]["OrchestratorConcurrency"] >= 2 * SIZES[size]["TurnConcurrency"]


def test_the_databases_version_is_one_that_aws_offers(template: Json) -> None:
    """cfn-lint's data says which versions of Aurora are deprecated: then choose a newer default."""
    folder = Path(cfnlint.__file__).parent / "data/schemas/extensions/aws_rds_dbcluster"
    version = template["Parameters"]["EngineVersion"]["Default"]
    assert f'"{version}"' in (folder / "engine_version.json").read_text()
    assert f'"{version}"' not in (folder / "engine_version_deprecated.json").read_text()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_environment_fits_into_lambda_with_the_longest_name_of_a_stack(template: Json, function: str) -> None:
    """Lambda allows 4 KB. The longest name and region that AWS has, and what parameters and attributes come to."""
    longest = {"AWS::StackName": "s" * MAX_STACK_NAME, "AWS::Region": "ap-southeast-99", "AWS::AccountId": "1" * 12}

    def size(value: Any) -> int:
        if isinstance(value, dict):
            ((name, argument),) = value.items()
            if name == "Fn::If":
                return max(size(argument[1]), size(argument[2]))
            if name == "Ref" and argument in template["Parameters"]:
                return len(str(template["Parameters"][argument].get("Default", "")))
            if name in {"Ref", "Fn::GetAtt"} and not str(argument).startswith("AWS::"):
                (resource,) = references(value)
                sizes = [more for kind, more in AWS_NAMES.items() if resource.endswith(kind)]
                return MAX_STACK_NAME + (sizes[0] if sizes else 25)
            if name == "Ref":
                return len(longest[argument])
            text = argument if isinstance(argument, str) else argument[0]
            return len(re.sub(r"\$\{([\w:]+)[^}]*\}", lambda found: longest.get(found[1], "x" * 40), text))
        return len(str(value))

    environment = variables(template, function)
    assert sum(len(name) + size(value) for name, value in environment.items()) <= 4096


def test_inbound_is_outside_the_network_and_everything_with_a_database_is_inside(template: Json) -> None:
    for function in FUNCTIONS:
        inside = "VpcConfig" in properties(template, function)
        assert inside == ("DATABASE_SECRET" in variables(template, function))


def test_no_secret_is_echoed(template: Json) -> None:
    for name, parameter in template["Parameters"].items():
        assert parameter.get("NoEcho", False) is name.endswith("SecretValue")
    for output in template["Outputs"].values():
        assert "SecretValue" not in str(output)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_handler_is_a_short_file_that_imports_no_sibling(function: str) -> None:
    folder = Path("functions", function)
    text = (folder / "handler.py").read_text("utf-8")
    assert text.count("\n") <= 40
    assert [path.name for path in folder.glob("*.py")] == ["handler.py"]
    for node in ast.walk(ast.parse(text)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert not any(name.split(".")[0] in {"functions", "shared", ""} for name in names)


def test_the_operators_key_signs_in_nowhere_in_the_cloud_unless_it_is_allowed(template: Json) -> None:
    assert template["Parameters"]["AllowOperatorKey"]["Default"] == "false"
    for function in ("http_api", "http_stream"):
        assert variables(template, function)["ALLOW_OPERATOR_KEY"] == {
            "Fn::If": ["InCloud", {"Ref": "AllowOperatorKey"}, "true"]
        }


def test_webhooks_are_counted_by_a_limit_of_their_own_and_nothing_else_is(template: Json) -> None:
    requests, webhooks = template["Resources"]["WebAcl"]["Properties"]["Rules"]
    limits = [rule["Statement"]["RateBasedStatement"] for rule in (requests, webhooks)]
    exempt = limits[0]["ScopeDownStatement"]["NotStatement"]["Statement"]
    assert limits[1]["ScopeDownStatement"] == exempt
    assert limits[1]["Limit"] == 20_000
    matches = [one["ByteMatchStatement"] for one in exempt["OrStatement"]["Statements"]]
    assert {match["PositionalConstraint"] for match in matches} == {"STARTS_WITH"}
    starts = tuple(match["SearchString"] for match in matches)
    stage = template["Resources"]["Api"]["Properties"]["StageName"]
    assert starts == (f"/{stage}/webhooks/", "/webhooks/")
    assert not f"/{stage}/console/agents/webhooks/x".startswith(starts)


def test_the_methods_that_take_webhooks_have_throttles_of_their_own(template: Json) -> None:
    paths = {event["Properties"]["Path"] for event in properties(template, "inbound")["Events"].values()}
    settings = template["Resources"]["Api"]["Properties"]["MethodSettings"]
    own = {one["ResourcePath"] for one in settings if one["HttpMethod"] == "POST" and one["ThrottlingRateLimit"]}
    assert own == {"/" + path.replace("/", "~1") for path in paths}
