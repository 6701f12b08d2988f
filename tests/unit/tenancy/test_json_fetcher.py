from collections.abc import Callable, Iterator

import httpx2
import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.tenancy.json_fetcher import JsonFetcher

URL = "https://id.example.com/keys"


def answering(answer: Callable[[httpx2.Request], httpx2.Response]) -> JsonFetcher:
    return JsonFetcher(httpx2.MockTransport(answer), clock=lambda: 0.0)


def test_an_object_is_read() -> None:
    fetch = answering(lambda request: httpx2.Response(200, json={"asked": str(request.url)}))
    assert fetch(URL) == {"asked": URL}


def unreachable(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("no route", request=request)


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 1024


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: httpx2.Response(302, headers={"location": "https://elsewhere.example.com"}),
        lambda _: httpx2.Response(500, json={}),
        lambda _: httpx2.Response(200, text="<html>"),
        lambda _: httpx2.Response(200, content=b"\xff\xfe"),
        lambda _: httpx2.Response(200, text="[" * 100_000),
        lambda _: httpx2.Response(200, json=["keys"]),
        lambda _: httpx2.Response(200, content=endless()),
        unreachable,
    ],
)
def test_anything_else_is_an_issuer_that_does_not_answer(answer: Callable[[httpx2.Request], httpx2.Response]) -> None:
    with pytest.raises(ProviderUnavailable):
        answering(answer)(URL)


@pytest.mark.parametrize("url", ["", "not a url", "ftp://id.example.com", "https://[::1", "https://\x00"])
def test_an_address_that_is_none_is_an_issuer_that_does_not_answer(url: str) -> None:
    with pytest.raises(ProviderUnavailable):
        JsonFetcher()(url)


def test_a_slow_trickle_is_cut_off_after_five_seconds() -> None:
    seconds = iter(range(0, 100, 2))
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=endless()))
    with pytest.raises(ProviderUnavailable):
        JsonFetcher(transport, clock=lambda: float(next(seconds)))(URL)
    assert next(seconds) == 8
