"""The people who talk to the stack of tests/conftest.py. Every story takes numbers and names of its own."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stories import packs, words
from tests.stories.clients import HTTP, Api, Command, Phone, Visitor
from tests.stories.stack import Stack

_COUNT = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def close_connections() -> Iterator[None]:
    yield
    HTTP.close()


@pytest.fixture
def number() -> str:
    """Return a phone number that no other story uses, from the range that is kept for drama."""
    return f"+447700900{next(_COUNT):03}"


@pytest.fixture
def phone(running_stack: Stack, number: str) -> Phone:
    return Phone(running_stack, number)


@pytest.fixture
def name(number: str) -> str:
    """Return a word that no other story uses, for names of tenants and records."""
    return f"story{number[-3:]}"


@pytest.fixture
def operator(running_stack: Stack) -> Api:
    """Return the API as the operator of the deployment, in the example tenant."""
    return Api(running_stack.url, running_stack.tenant, running_stack.operator_key)


@pytest.fixture
def make_tenant(running_stack: Stack) -> Callable[[str], Api]:
    """Return what makes a tenant with one agent, and gives the operator's API in it."""

    def make(slug: str) -> Api:
        api = Api(running_stack.url, slug, running_stack.operator_key)
        api.ask("PUT", "/v1/pack", {"files": packs.pack(slug)})
        return api

    return make


@pytest.fixture
def own_tenant(make_tenant: Callable[[str], Api], name: str) -> Api:
    """Return the API as the operator, in a tenant that only this story uses."""
    return make_tenant(name)


@pytest.fixture
def visit(running_stack: Stack) -> Callable[..., Visitor]:
    """Return what opens a session with a binding of the example tenant, or of another."""

    def open_session(binding: str = words.SITE_DESK, tenant: str = running_stack.tenant) -> Visitor:
        return Visitor(running_stack.url, tenant, binding)

    return open_session


@pytest.fixture
def command(running_stack: Stack, tmp_path: Path) -> Command:
    return Command(running_stack, tmp_path)
