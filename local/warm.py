"""What a worker needs imported before it is forked: all of the handlers' code, and nothing that is connected.

Imported by the server that forks the workers (`local.workers`), for its effect: a fork of it begins where Lambda's
snapshot would, in milliseconds instead of seconds.
"""

import importlib
from contextlib import suppress

import boto3

from local.state import ROOT

_LATE = ("anthropic.resources.messages", "genai_prices.data", "tiktoken", "jsonschema", "parlour.context.tokens")
"""What the rooms import when they need it."""

_SERVICES = ("sqs", "secretsmanager", "s3")


def warm() -> None:
    """Import every handler, and read the descriptions of the AWS services into the session that clients share."""
    for folder in sorted((ROOT / "functions").iterdir()):
        with suppress(ImportError):  # it is imported again by its worker, which says what is the matter
            importlib.import_module(f"functions.{folder.name}.handler")
    for module in _LATE:
        importlib.import_module(module)
    for service in _SERVICES:
        client = boto3.client(  # type: ignore[call-overload]  # one of three, by name
            service, region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none"
        )
        client.close()


warm()
