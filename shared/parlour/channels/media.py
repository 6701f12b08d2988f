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
from datetime import datetime, timedelta
from urllib.parse import urljoin
from uuid import UUID

import httpx2

from parlour.channels import store
from parlour.channels.attachment_content import (
    FETCH_RETRY_PERIOD,
    MAX_ATTACHMENT_BYTES,
    AttachmentContent,
    missing_content,
    plain_file_name,
    read_content,
)
from parlour.channels.mime_types import detect_mime_type
from parlour.channels.provider_http import response_json, retry_after_seconds
from parlour.channels.store import MessageMedia
from parlour.channels.whatsapp_cloud_api import GRAPH_API_VERSION, is_token_refused
from parlour.infra import log
from parlour.infra.errors import AccessRefused, Misconfigured, ProviderUnavailable, RetryError
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import ObjectWriter
from parlour.infra.postgres import Database, SecondsLeft
from parlour.infra.secrets import SecretStore
from parlour.principal import Principal

FETCH_TIMEOUT_SECONDS = 6.0
"""For the whole of one file, redirects and Meta's two questions included: 16 MB at 22 Mbit/s."""

_MIN_SECONDS_LEFT = 2.0
"""With less, a file is left to the next delivery; what one file leaves is the next one's of the batch."""

MAX_BLOCKED_TIME = timedelta(hours=24)
"""How long after a message came its file is tried for, when the provider refuses the tenant's token. Meta keeps files
for days; that often the queue delivers, too."""

_MIN_RETRY_PAUSE = timedelta(minutes=5)
_MAX_RETRY_PAUSE = timedelta(hours=6)
_MAX_ERROR_BYTES = 64 * 1024
_READ_TIMEOUT_SECONDS = 5.0
_MAX_REDIRECTS = 3
_MEDIA_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_GRAPH_API_URL = "https://graph.facebook.com"
_PROVIDER_HOSTS: Mapping[str, tuple[str, ...]] = {
    "gupshup": ("filemanager.gupshup.io",),
    "whatsapp_cloud": ("graph.facebook.com", "lookaside.fbsbx.com"),
}


class _FileRefused(Exception):
    """The file is not taken, for a reason that does not pass."""


class MediaFetcher:
    """Fetches files and keeps them. `base_url` is Meta's API; one that is not Meta's own plays every provider."""

    def __init__(
        self,
        client: httpx2.Client,
        objects: ObjectWriter,
        secrets: SecretStore,
        base_url: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._objects = objects
        self._secrets = secrets
        self._base_url = base_url.rstrip("/")
        self._clock = clock

    def fetch_and_store(
        self, principal: Principal, database: Database, message_id: UUID, seconds_left: SecondsLeft, now: datetime
    ) -> bool:
        """Fetch and keep what the stored message came with, and write down where or why not; whether it is kept.

        Nothing is done for a message without a file, or whose file was seen to already. Raises a RetryError while
        trying again may help; once the message is older than PATIENCE that is written down as the reason, too.
        AccessRefused is for longer, and says after how long: whoever calls has that message wait by itself. That is
        written down, too, so that nobody's answer waits for it.
        """
        found = database.run(principal, lambda tx: store.find_message_media(tx, message_id))
        if found is None or not (found.media.get("url") or found.media.get("id")):
            return False
        if {"stored", "refused"} & set(found.media):
            return "stored" in found.media
        remaining = seconds_left()
        if remaining < _MIN_SECONDS_LEFT:
            raise ProviderUnavailable("there is no time left to fetch a file")
        until = self._clock() + min(FETCH_TIMEOUT_SECONDS, remaining - _MIN_SECONDS_LEFT / 2)
        try:
            outcome, file = self._fetch_and_put(principal, found, now, until)
        except AccessRefused:
            database.run(principal, lambda tx: store.mark_media_blocked(tx, message_id))
            raise
        name = plain_file_name(str(found.media.get("name") or ""), str(found.media.get("kind") or "file"))
        noted = database.run(principal, lambda tx: store.record_media(tx, message_id, outcome, file, name, now))
        if (
            not noted
            and "stored" in outcome
            and (database.run(principal, lambda tx: store.find_message_media(tx, message_id)) is None)
        ):
            self._objects.delete([_object_key(principal, message_id)])
            return False
        log.info(
            "media_processed",
            tenant_id=principal.tenant_id,
            message_id=message_id,
            outcome=str(outcome.get("refused", "stored")),
        )
        return "stored" in outcome

    def _fetch_and_put(
        self, principal: Principal, found: MessageMedia, now: datetime, until: float
    ) -> tuple[JsonObject, AttachmentContent]:
        try:
            data = self._fetch(found, until)
            kind = detect_mime_type(data)
            if kind is None:
                return _refusal("unsupported_type")
            key = _object_key(principal, found.message_id)
            self._objects.put(key, data, kind)
        except _FileRefused as refusal:
            return _refusal(str(refusal))
        except Misconfigured:
            return _refusal("no_token")
        except AccessRefused as problem:
            waited = now - found.received_at
            log.error("media_blocked", problem, tenant_id=principal.tenant_id, message_id=found.message_id)
            log.count("RefusedAccess")
            if waited >= MAX_BLOCKED_TIME:
                return _refusal(problem.code)
            pause = min(max(waited, _MIN_RETRY_PAUSE), _MAX_RETRY_PAUSE)
            raise AccessRefused(retry_after=int(pause.total_seconds())) from None
        except RetryError:
            if now - found.received_at < FETCH_RETRY_PERIOD:
                raise
            return _refusal("unavailable")
        digest = hashlib.sha256(data).hexdigest()
        stored: JsonObject = {
            "bucket": self._objects.bucket,
            "key": key,
            "bytes": len(data),
            "mime_type": kind,
            "sha256": digest,
        }
        return {"stored": stored}, read_content(data)

    def _fetch(self, found: MessageMedia, until: float) -> bytes:
        if found.provider != "whatsapp_cloud":
            return self._download(str(found.media.get("url")), "gupshup", {}, until)
        if not found.secret_reference:
            raise _FileRefused("no_token")
        headers = {"Authorization": f"Bearer {self._secrets.get(found.secret_reference).strip()}"}
        media_id = str(found.media.get("id"))
        if not _MEDIA_ID.fullmatch(media_id):
            raise _FileRefused("not_found")
        asked = self._download(f"{self._base_url}/{GRAPH_API_VERSION}/{media_id}", "whatsapp_cloud", headers, until)
        answer = response_json(httpx2.Response(200, content=asked))
        return self._download(str(answer.get("url")), "whatsapp_cloud", headers, until)

    def _download(self, url: str, provider: str, headers: Mapping[str, str], until: float) -> bytes:
        """Return the bytes at `url`, up to the size limit."""
        for _ in range(_MAX_REDIRECTS + 1):
            self._check_url(url, provider)
            left = until - self._clock()
            if left <= 0:
                raise ProviderUnavailable("the provider's files come too slowly")
            try:
                plain = {**headers, "Accept-Encoding": "identity"}  # what is unpacked might be larger than it looks
                open_stream = self._client.stream(
                    "GET", url, headers=plain, timeout=min(left, _READ_TIMEOUT_SECONDS), follow_redirects=False
                )
                with open_stream as got:
                    if not got.has_redirect_location:
                        return self._read_body(got, until)
                    url = urljoin(url, got.headers["location"])
            except httpx2.RequestError as error:
                raise ProviderUnavailable("the provider's files cannot be reached") from error
        raise _FileRefused("too_many_redirects")

    def _check_url(self, url: str, provider: str) -> None:
        """Only to the provider's own hosts, encrypted, at the usual port; or to what plays it on a laptop."""
        try:
            at = httpx2.URL(url)
        except httpx2.InvalidURL:
            raise _FileRefused("host_not_allowed") from None
        plays = self._base_url != _GRAPH_API_URL and _origin(at) == _origin(httpx2.URL(self._base_url))
        is_theirs = at.scheme == "https" and at.port in {None, 443} and at.host in _PROVIDER_HOSTS[provider]
        if at.userinfo or not (plays or is_theirs):
            raise _FileRefused("host_not_allowed")

    def _read_body(self, response: httpx2.Response, until: float) -> bytes:
        status = response.status_code
        if status == 429 or status >= 500:
            raise ProviderUnavailable(
                f"the provider's files answered {status}", retry_after=retry_after_seconds(response)
            )
        if not response.is_success:
            raise AccessRefused if _is_access_refused(response) else _FileRefused("not_found")
        data = bytearray()
        for chunk in response.iter_raw():
            data += chunk
            if len(data) > MAX_ATTACHMENT_BYTES:
                raise _FileRefused("too_large")
            if self._clock() > until:
                raise ProviderUnavailable("the provider's files come too slowly")
        return bytes(data)


def _refusal(reason: str) -> tuple[JsonObject, AttachmentContent]:
    return {"refused": reason}, missing_content(reason)


def _is_access_refused(response: httpx2.Response) -> bool:
    """Whether it is the token and not the file: by the status, or by Meta's code, whatever the status."""
    if "authorization" not in response.request.headers:
        return False  # no key of ours was shown
    if response.status_code in {401, 403}:
        return True
    told = bytearray()
    for chunk in response.iter_raw():
        told += chunk
        if len(told) > _MAX_ERROR_BYTES:
            return False
    return is_token_refused(response_json(httpx2.Response(response.status_code, content=bytes(told))))


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _object_key(principal: Principal, message_id: UUID) -> str:
    return f"tenant/{principal.tenant_id}/media/{message_id}"
