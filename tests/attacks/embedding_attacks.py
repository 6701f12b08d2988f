"""The embedded chat attacked from other hosts: what a browser would let a foreign page do."""

from fastapi.testclient import TestClient
from httpx2 import Response

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from tests.conversation_harness import ConversationHarness
from tests.integration.api.conftest import FakeQueues, ManualClock, RecordingQueue, make_dependencies

_LISTED, _FOREIGN = "https://www.northbank.example", "https://evil.example"
_WEB = '{"web": {"host": "site.northbank.example", "embed_hosts": ["www.northbank.example"]}}'


def _get(desk: ConversationHarness, path: str, **headers: str) -> Response:
    """Return what the API answers to a browser, after the pack listed one host for every binding."""
    desk.query(f"UPDATE bindings SET channels = '{_WEB}' RETURNING id")
    pool = DatabasePool(lambda: desk.database)
    services = make_dependencies(pool, ManualClock(desk.clock()), RecordingQueue(), FakeQueues())
    return TestClient(create_app(services)).get(path, headers=headers)


def _is_framed_by(origin: str, answer: Response) -> bool:
    ancestors = answer.headers["content-security-policy"].partition("frame-ancestors ")[2].split()
    return "x-frame-options" not in answer.headers and bool({origin, "*", "https:"} & {*ancestors})


def foreign_page_frames_the_chat(desk: ConversationHarness) -> bool:
    """Clickjacking: a page puts the chat below its own buttons."""
    return _is_framed_by(_FOREIGN, _get(desk, "/console/embed.html?agent=northbank/site-desk"))


def listed_page_frames_the_chat(desk: ConversationHarness) -> bool:
    return _is_framed_by(_LISTED, _get(desk, "/console/embed.html?agent=northbank/site-desk"))


def forged_host_opens_the_frame(desk: ConversationHarness) -> bool:
    """The server is told that its host, or the one in front of it, is the foreign one."""
    names = ("Host", "X-Forwarded-Host", "Origin", "Referer")
    address = "/console/embed.html?agent=northbank/site-desk"
    return any(_is_framed_by(_FOREIGN, _get(desk, address, **{name: "evil.example"})) for name in names)


def foreign_page_reads_the_settings(desk: ConversationHarness) -> bool:
    return _is_readable(desk, _FOREIGN)


def listed_page_reads_the_settings(desk: ConversationHarness) -> bool:
    return _is_readable(desk, _LISTED)


def _is_readable(desk: ConversationHarness, origin: str) -> bool:
    """Whether a page of this origin reads the answer; it holds the token of a visitor."""
    answer = _get(desk, "/console/agents/northbank/site-desk", Origin=origin, Authorization="Bearer stolen")
    return answer.headers.get("access-control-allow-origin") in {origin, "*"}
