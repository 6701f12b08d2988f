"""Members' tokens: signed by an OpenID Connect issuer that this deployment trusts.

An issuer's keys are found through its discovery document, kept for an hour, and read again when a token names a
key that is not among them, at most every half minute. While an issuer does not answer, its last keys serve for a
day.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import jwt

from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderUnavailable, Unauthenticated
from parlour.infra.json_values import JsonObject
from parlour.tenancy import signed_tokens

#: The key decides the algorithm; the token's header only has to agree.
_ALGORITHMS = frozenset({"RS256", "ES256"})

_CACHE_TIME = timedelta(hours=1)
_MIN_REFRESH_PAUSE = timedelta(seconds=30)
_MAX_STALE_TIME = timedelta(days=1)
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class SignIn:
    """A way to sign in to the console: an issuer, the client id of the console there, and what people call it.

    token_origins: further origins that the page may connect to, where the issuer's token endpoint is not its own.
    """

    issuer: str
    client_id: str
    name: str
    token_origins: tuple[str, ...] = ()

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins that the console's page may connect to."""
        parts = urlsplit(self.issuer)
        return (f"{parts.scheme}://{parts.netloc}", *self.token_origins)


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom an issuer says the bearer is."""

    issuer: str
    subject: str


def parse_operators(text: str) -> tuple[Identity, ...]:
    """Return who runs the deployment: `<issuer>#<subject>`, comma-separated. Misconfigured for anything else."""
    entries = [part.strip() for part in text.split(",") if part.strip()]
    found = [Identity(*entry.rsplit("#", 1)) for entry in entries if "#" in entry.strip("#")]
    if len(found) != len(entries):
        raise Misconfigured("OPERATORS: write <issuer>#<subject>, separated by commas")
    return tuple(found)


def parse_issuers(text: str) -> tuple[str, ...]:
    """Return the issuers of a comma-separated setting; Misconfigured unless each is https, or http on this machine."""
    issuers = tuple(part.strip() for part in text.split(",") if part.strip())
    for issuer in issuers:
        if not (_is_https(issuer) or _is_local(issuer)):
            raise Misconfigured("OIDC_ISSUERS: write https:// URLs, separated by commas (http:// on localhost only)")
    return issuers


def parse_sign_ins(issuers: Sequence[str], client_ids: str, token_origins: str) -> tuple[SignIn, ...]:
    """Return how people sign in to the console; none without a client id.

    Misconfigured unless there is one client id for all issuers, or one for each, comma-separated in their order, and
    each of the comma-separated token origins is `https://host`.
    """
    origins = tuple(part.strip() for part in token_origins.split(",") if part.strip())
    if any(not _is_https(origin) or urlsplit(origin).path for origin in origins):
        raise Misconfigured("OIDC_TOKEN_ORIGINS: write https://host, separated by commas")
    found = [part.strip() for part in client_ids.split(",") if part.strip()]
    if not found:
        return ()
    if len(found) not in {1, len(issuers)}:
        raise Misconfigured("OIDC_CLIENT_ID: write one client id, or one for each of OIDC_ISSUERS in the same order")
    each = found * len(issuers) if len(found) == 1 else found
    pairs = zip(issuers, each, strict=True)
    return tuple(SignIn(issuer, client_id, urlsplit(issuer).hostname or issuer, origins) for issuer, client_id in pairs)


class TrustedIssuers:
    """The trusted issuers and their keys. May be shared between threads."""

    def __init__(
        self,
        trusted: Sequence[str],
        audience: str,
        fetch: Callable[[str], JsonObject],
        sign_ins: Sequence[SignIn] = (),
    ) -> None:
        """Accept tokens for `audience`, and those that an issuer gave the console, whose audience is its client id."""
        self._keys = {issuer: _IssuerKeys(issuer, fetch) for issuer in trusted}
        self._audiences = {issuer: {audience} for issuer in trusted}
        for sign_in in sign_ins:
            self._audiences[sign_in.issuer].add(sign_in.client_id)
        self._lock = threading.Lock()

    def verify(self, text: str, now: datetime) -> Identity:
        """Whom the token is for.

        Raises Unauthenticated for every token that is not in order, ProviderUnavailable when that cannot be
        told because the issuer does not answer.
        """
        header = signed_tokens.parse_header(text)
        if header is None or header.algorithm not in _ALGORITHMS:
            raise Unauthenticated(reason="algorithm")
        issuer = signed_tokens.get_text_claim(signed_tokens.read_unverified_claims(text), "iss")
        if issuer not in self._keys:
            raise Unauthenticated(reason="issuer")
        with self._lock:
            key = self._keys[issuer].find_key(header, now)
        claims = signed_tokens.verify_signature(text, key, key.algorithm_name)
        if claims.get("iss") != issuer:
            raise Unauthenticated(reason="issuer")
        audience = claims.get("aud")
        named = audience if isinstance(audience, list) else [audience]
        if not any(isinstance(one, str) and one in self._audiences[issuer] for one in named):
            raise Unauthenticated(reason="audience")
        signed_tokens.verify_times(claims, now)
        return Identity(issuer, signed_tokens.get_text_claim(claims, "sub"))


class _IssuerKeys:
    """One issuer's public keys."""

    def __init__(self, issuer: str, fetch: Callable[[str], JsonObject]) -> None:
        self._issuer = issuer
        self._fetch = fetch
        self._keys: tuple[jwt.PyJWK, ...] = ()
        self._refreshed_at: datetime | None = None
        self._tried_at: datetime | None = None

    def find_key(self, header: signed_tokens.TokenHeader, now: datetime) -> jwt.PyJWK:
        """Return the key that the header names, fetching the keys again if needed; the module says when."""
        if self._is_refresh_due(header, now):
            self._refresh(now)
        key = _find_key(self._keys, header)
        if key:
            return key
        if self._refreshed_at != self._tried_at:
            raise ProviderUnavailable("the identity provider did not answer; try again in a minute")
        raise Unauthenticated(reason="unknown_key")

    def _is_refresh_due(self, header: signed_tokens.TokenHeader, now: datetime) -> bool:
        if self._tried_at and now - self._tried_at < _MIN_REFRESH_PAUSE:
            return False
        return (
            self._refreshed_at is None
            or now - self._refreshed_at > _CACHE_TIME
            or _find_key(self._keys, header) is None
        )

    def _refresh(self, now: datetime) -> None:
        self._tried_at = now
        try:
            self._keys = _signing_keys(self._fetch(self._fetch_keys_url()))
            self._refreshed_at = now
        except ProviderUnavailable as error:
            log.error("issuer_keys_unavailable", error, issuer=self._issuer)
            if self._refreshed_at and now - self._refreshed_at > _MAX_STALE_TIME:
                self._keys = ()

    def _fetch_keys_url(self) -> str:
        document = self._fetch(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        url = document.get("jwks_uri")
        if document.get("issuer") != self._issuer or not isinstance(url, str):
            raise ProviderUnavailable("the issuer's discovery document is not its own")
        if not (_is_https(url) or (_is_local(url) and _is_local(self._issuer))):
            raise ProviderUnavailable("the issuer's keys are not behind https")
        return url


def _signing_keys(document: JsonObject) -> tuple[jwt.PyJWK, ...]:
    """Return the public signing keys of a JWK set that we take; an odd key does not cost the others.

    Raises:
        ProviderUnavailable: the document has no list of keys.
    """
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise ProviderUnavailable("the issuer's key set has no keys")
    public = [jwk for jwk in listed if isinstance(jwk, dict) and jwk.get("use", "sig") == "sig" and "d" not in jwk]
    try:
        known = jwt.PyJWKSet([jwk for jwk in public if jwk.get("alg") in (None, *_ALGORITHMS)])
    except jwt.PyJWKSetError:  # none of them is usable
        return ()
    return tuple(key for key in known if key.algorithm_name in _ALGORITHMS)


def _find_key(keys: Sequence[jwt.PyJWK], header: signed_tokens.TokenHeader) -> jwt.PyJWK | None:
    """Return the key of that name and algorithm; a token that names none fits a key set of one."""
    fitting = [key for key in keys if key.algorithm_name == header.algorithm]
    if header.key_id is None:
        return fitting[0] if len(fitting) == 1 else None
    return next((key for key in fitting if key.key_id == header.key_id), None)


def _is_https(url: str) -> bool:
    return _host_of(url, "https") is not None


def _is_local(url: str) -> bool:
    return _host_of(url, "http") in _LOCAL_HOSTS


def _host_of(url: str, scheme: str) -> str | None:
    """Return the host of a URL of that scheme without credentials in it, else None."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.hostname if parts.scheme == scheme and parts.hostname and "@" not in parts.netloc else None
