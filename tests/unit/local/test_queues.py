"""The template's queues as they are made without deploying it."""

import pytest
from moto import mock_aws

from local import emulator, queues
from parlour.infra.settings import HttpApiSettings


@pytest.mark.parametrize("resource", ["IntakeQueue", "TurnsMessagingQueue", "OutboxQueue", "ToolsQueue"])
def test_every_queue_of_the_template_is_made_with_its_order_and_its_dead_letters(resource: str) -> None:
    with mock_aws():
        client = emulator.client("sqs", "https://sqs.us-east-1.amazonaws.com")
        urls = queues.create_queues(client, "test")
        made = client.get_queue_attributes(QueueUrl=urls[resource], AttributeNames=["All"])["Attributes"]
    dead = resource.replace("Queue", "DeadLetters")
    assert made["FifoQueue"] == "true"
    assert dead in made["RedrivePolicy"]


def test_a_queue_is_known_to_the_functions_by_the_variable_of_the_template() -> None:
    wanted = {name.upper() for name in HttpApiSettings.model_fields if name.endswith("_url") and "queue" in name}
    assert wanted <= {queues.environment_variable(queue.resource) for queue in queues.list_queue_definitions()}
    assert queues.environment_variable("TurnsWebDeadLetters") == "TURNS_WEB_DEAD_LETTERS_URL"
