"""What a worker needs imported before it is forked: all of the handlers' code, and nothing that is connected.

Imported by the server that forks the workers (`local.workers`), for its effect: a fork of it begins where Lambda's
snapshot would, in milliseconds instead of seconds.
"""

import importlib
from contextlib import suppress

import boto3
import httpx2
from anthropic import Anthropic

from local.state import ROOT
from parlour.text import token_counter

_LAZY_MODULES = ("anthropic.resources.messages", "genai_prices.data", "jsonschema")
"""What the rooms import when they need it."""

_SERVICES = ("sqs", "secretsmanager", "s3")


def preload_handlers() -> None:
    """Import every handler, read the tokenizer's ranks, and the descriptions of the AWS services into the session that
    clients share. Clients are built and let go: none of them connects before it is used."""
    for folder in sorted((ROOT / "functions").iterdir()):
        with suppress(ImportError):  # it is imported again by its worker, which says what is the matter
            importlib.import_module(f"functions.{folder.name}.handler")
    for module in _LAZY_MODULES:
        importlib.import_module(module)
    token_counter.count_tokens("warm")  # reads a hundred thousand ranks
    httpx2.Client().close()
    Anthropic(api_key="none").close()
    for service in _SERVICES:
        client = boto3.client(  # type: ignore[call-overload]  # one of three, by name
            service, region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none"
        )
        client.close()


preload_handlers()
