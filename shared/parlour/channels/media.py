"""What people send beside text: fetched from the provider while it can be, looked at, and kept.

It happens after the message is stored and before its session is woken, so that the turn that answers it has the file.
A message is never lost for it: it comes again until its file was seen to, kept or not, and the sweep looks after it.
A file comes from the provider's own hosts and nowhere else, over connections that carry a tenant's token to Meta
only; redirects are followed among those hosts. What it is is told by its bytes, not by what anybody says.
"""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from urllib.parse import urljoin
from uuid import UUID

import httpx2

from parlour.channels import store
from parlour.channels.included import LARGEST_BYTES, PATIENCE, Included, included, not_fetched, plain_name
from parlour.channels.sniff import kind_of
from parlour.channels.store import Attachment
from parlour.channels.whatsapp_cloud_api import VERSION, is_not_admitted
from parlour.channels.wire import answer_of, retry_after
from parlour.infra import log
from parlour.infra.errors import AccessRefused, Misconfigured, ProviderUnavailable, RetryError
from parlour.infra.jsonable import JsonObject
from parlour.infra.objects import Objects
from parlour.infra.postgres import Database, SecondsLeft
from parlour.infra.secrets import Secrets
from parlour.principal import Principal

FETCH_SECONDS = 15.0
"""For the whole of one file, redirects and Meta's two questions included."""

LONGEST_PUT_OFF = timedelta(hours=24)
"""How long after a message came its file is tried for, when the provider refuses the tenant's token. Meta keeps files
for days; that often the queue delivers, too."""

_SHORTEST_PAUSE = timedelta(minutes=5)
_LONGEST_PAUSE = timedelta(hours=6)
_LONGEST_REFUSAL = 64 * 1024
_SILENCE_SECONDS = 5.0
_MOST_REDIRECTS = 3
_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_GRAPH = "https://graph.facebook.com"
_HOSTS: Mapping[str, tuple[str, ...]] = {
    "gupshup": ("filemanager.gupshup.io",),
    "whatsapp_cloud": ("graph.facebook.com", "lookaside.fbsbx.com"),
}


class _Refused(Exception):
    """The file is not taken, for a reason that does not pass."""


class MediaKeeper:
    """Fetches files and keeps them. `base_url` is Meta's API; one that is not Meta's own plays every provider."""

    def __init__(
        self,
        client: httpx2.Client,
        objects: Objects,
        secrets: Secrets,
        base_url: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._objects = objects
        self._secrets = secrets
        self._base = base_url.rstrip("/")
        self._clock = clock

    def keep(
        self, principal: Principal, database: Database, message_id: UUID, seconds_left: SecondsLeft, now: datetime
    ) -> bool:
        """Fetch and keep what the stored message came with, and write down where or why not; whether it is kept.

        Nothing is done for a message without a file, or whose file was seen to already. Raises a RetryError while
        trying again may help; once the message is older than PATIENCE that is written down as the reason, too.
        AccessRefused is for longer, and says after how long: whoever calls has that message wait by itself. That is
        written down, too, so that nobody's answer waits for it.
        """
        found = database.run(principal, lambda tx: store.attachment(tx, message_id))
        if found is None or not (found.media.get("url") or found.media.get("id")):
            return False
        if {"stored", "refused"} & set(found.media):
            return "stored" in found.media
        if seconds_left() < FETCH_SECONDS:
            raise ProviderUnavailable("there is no time left to fetch a file")
        try:
            outcome, file = self._outcome(principal, found, now)
        except AccessRefused:
            database.run(principal, lambda tx: store.put_media_off(tx, message_id))
            raise
        name = plain_name(str(found.media.get("name") or ""), str(found.media.get("kind") or "file"))
        noted = database.run(principal, lambda tx: store.note_media(tx, message_id, outcome, file, name, now))
        if not noted and "stored" in outcome and self._is_forgotten(principal, database, message_id):
            self._objects.delete([_key(principal, message_id)])
            return False
        log.info("media_seen_to", tenant_id=principal.tenant_id, message_id=message_id, outcome=_told(outcome))
        return "stored" in outcome

    def _is_forgotten(self, principal: Principal, database: Database, message_id: UUID) -> bool:
        """Whether the message, or what it came with, went while its file was fetched."""
        return database.run(principal, lambda tx: store.attachment(tx, message_id)) is None

    def _outcome(self, principal: Principal, found: Attachment, now: datetime) -> tuple[JsonObject, Included]:
        try:
            data = self._fetch(found)
            kind = _taken(data)
            key = _key(principal, found.message_id)
            self._objects.put(key, data, kind)
        except _Refused as refusal:
            return _refused(str(refusal))
        except Misconfigured:
            return _refused("no_token")
        except AccessRefused as problem:
            waited = now - found.received_at
            log.error("media_put_off", problem, tenant_id=principal.tenant_id, message_id=found.message_id)
            log.count("RefusedAccess")
            if waited >= LONGEST_PUT_OFF:
                return _refused(problem.code)
            pause = min(max(waited, _SHORTEST_PAUSE), _LONGEST_PAUSE)
            raise AccessRefused(after=int(pause.total_seconds())) from None
        except RetryError:
            if now - found.received_at < PATIENCE:
                raise
            return _refused("unavailable")
        digest = hashlib.sha256(data).hexdigest()
        stored: JsonObject = {
            "bucket": self._objects.bucket, "key": key, "bytes": len(data), "mime_type": kind, "sha256": digest,
        }  # fmt: skip
        return {"stored": stored}, included(data)

    def _fetch(self, found: Attachment) -> bytes:
        until = self._clock() + FETCH_SECONDS
        if found.provider != "whatsapp_cloud":
            return self._download(str(found.media.get("url")), "gupshup", {}, until)
        if not found.secret:
            raise _Refused("no_token")
        headers = {"Authorization": f"Bearer {self._secrets.get(found.secret).strip()}"}
        media_id = str(found.media.get("id"))
        if not _ID.fullmatch(media_id):
            raise _Refused("not_found")
        asked = self._download(f"{self._base}/{VERSION}/{media_id}", "whatsapp_cloud", headers, until)
        answer = answer_of(httpx2.Response(200, content=asked))
        return self._download(str(answer.get("url")), "whatsapp_cloud", headers, until)

    def _download(self, url: str, provider: str, headers: Mapping[str, str], until: float) -> bytes:
        """The bytes at `url`, LARGEST_BYTES at most."""
        for _ in range(_MOST_REDIRECTS + 1):
            self._check(url, provider)
            left = until - self._clock()
            if left <= 0:
                raise ProviderUnavailable("the provider's files come too slowly")
            try:
                with self._asked(url, headers, min(left, _SILENCE_SECONDS)) as got:
                    if not got.has_redirect_location:
                        return self._read(got, until)
                    url = urljoin(url, got.headers["location"])
            except httpx2.RequestError as error:
                raise ProviderUnavailable("the provider's files cannot be reached") from error
        raise _Refused("redirected")

    def _asked(self, url: str, headers: Mapping[str, str], seconds: float) -> AbstractContextManager[httpx2.Response]:
        plain = {**headers, "Accept-Encoding": "identity"}  # what is unpacked might be larger than it looks
        return self._client.stream("GET", url, headers=plain, timeout=seconds, follow_redirects=False)

    def _check(self, url: str, provider: str) -> None:
        """Only to the provider's own hosts, encrypted, at the usual port; or to what plays it on a laptop."""
        try:
            at = httpx2.URL(url)
        except httpx2.InvalidURL:
            raise _Refused("host_not_allowed") from None
        plays = self._base != _GRAPH and _origin(at) == _origin(httpx2.URL(self._base))
        is_theirs = at.scheme == "https" and at.port in {None, 443} and at.host in _HOSTS[provider]
        if at.userinfo or not (plays or is_theirs):
            raise _Refused("host_not_allowed")

    def _read(self, response: httpx2.Response, until: float) -> bytes:
        status = response.status_code
        if status == 429 or status >= 500:
            raise ProviderUnavailable(f"the provider's files answered {status}", after=retry_after(response))
        if not response.is_success:
            raise AccessRefused if _refuses_us(response) else _Refused("not_found")
        data = bytearray()
        for chunk in response.iter_raw():
            data += chunk
            if len(data) > LARGEST_BYTES:
                raise _Refused("too_large")
            if self._clock() > until:
                raise ProviderUnavailable("the provider's files come too slowly")
        return bytes(data)


def _refused(reason: str) -> tuple[JsonObject, Included]:
    return {"refused": reason}, not_fetched(reason)


def _taken(data: bytes) -> str:
    kind = kind_of(data)
    if kind is None:
        raise _Refused("type_not_taken")
    return kind


def _refuses_us(response: httpx2.Response) -> bool:
    """Whether it is the token and not the file: by the status, or by Meta's code, whatever the status."""
    if "authorization" not in response.request.headers:
        return False  # no key of ours was shown
    if response.status_code in {401, 403}:
        return True
    told = bytearray()
    for chunk in response.iter_raw():
        told += chunk
        if len(told) > _LONGEST_REFUSAL:
            return False
    return is_not_admitted(answer_of(httpx2.Response(response.status_code, content=bytes(told))))


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _told(outcome: JsonObject) -> str:
    return str(outcome.get("refused", "stored"))


def _key(principal: Principal, message_id: UUID) -> str:
    return f"tenant/{principal.tenant_id}/media/{message_id}"
