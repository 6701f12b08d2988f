"""The queues of the template, made without deploying it: the same attributes, the same dead letters."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from local.state import ROOT

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_COPIED_ATTRIBUTES = ("FifoQueue", "DeduplicationScope", "FifoThroughputLimit", "DelaySeconds", "VisibilityTimeout")
_DEAD = "DeadLetters"


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """One queue of the template. `dead_letters` is the resource that what is received too often goes to."""

    resource: str
    attributes: dict[str, str]
    dead_letters: str | None
    max_receives: int


class _Template(yaml.SafeLoader):
    """Reads CloudFormation's short forms as what stands behind their tag."""


def _construct_tagged(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    match node:
        case yaml.ScalarNode():
            return loader.construct_scalar(node)
        case yaml.SequenceNode():
            return loader.construct_sequence(node, deep=True)
        case yaml.MappingNode():
            return loader.construct_mapping(node, deep=True)
    raise ValueError(f"no such node in a template: {node!r}")


_Template.add_multi_constructor("!", _construct_tagged)


def list_queue_definitions() -> list[QueueDefinition]:
    """Every queue of the template; those for dead letters first, since the others name them."""
    resources = yaml.load((ROOT / "template.yaml").read_text(), _Template)["Resources"]
    queues = [(name, made["Properties"]) for name, made in resources.items() if made["Type"] == "AWS::SQS::Queue"]
    found = [_queue_definition(name, properties) for name, properties in queues]
    return sorted(found, key=lambda queue: queue.dead_letters is not None)


def environment_variable(resource: str) -> str:
    """The environment variable that names a queue to the functions: IntakeQueue is INTAKE_QUEUE_URL."""
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in resource).upper().strip("_")
    return f"{words}_URL"


def create_queues(client: "SQSClient", prefix: str) -> dict[str, str]:
    """Make every queue under a name that begins with `prefix`; their URLs by the template's names."""
    urls: dict[str, str] = {}
    for queue in list_queue_definitions():
        attributes = dict(queue.attributes)
        if queue.dead_letters:
            policy = {"deadLetterTargetArn": _queue_arn(client, urls[queue.dead_letters])}
            attributes["RedrivePolicy"] = json.dumps({**policy, "maxReceiveCount": queue.max_receives})
        suffix = ".fifo" if attributes.get("FifoQueue") == "true" else ""
        made = client.create_queue(QueueName=f"{prefix}-{queue.resource}{suffix}", Attributes=attributes)  # type: ignore[arg-type]
        urls[queue.resource] = made["QueueUrl"]
    return urls


def _queue_definition(name: str, properties: dict[str, Any]) -> QueueDefinition:
    attributes = {key: _attribute_text(properties[key]) for key in _COPIED_ATTRIBUTES if key in properties}
    redrive = properties.get("RedrivePolicy", {})
    target = str(redrive["deadLetterTargetArn"]).removesuffix(".Arn") if redrive else None
    return QueueDefinition(name, attributes, target, int(redrive.get("maxReceiveCount", 0)))


def _attribute_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _queue_arn(client: "SQSClient", url: str) -> str:
    return client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
