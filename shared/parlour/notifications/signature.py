"""The signature of a webhook: a compact JWS (HS256) over the body's hash, as the tokens of tools' callbacks are. Pure.

The header `parlour-signature` has the payload {"iss": "parlour", "jti": event and recipient, "iat", "sha256"}. A
receiver checks the signature with the shared secret, the hash against the body's bytes, and that `iat` is recent.
"""

import hashlib
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import jwt

from parlour.infra.errors import Unauthenticated
from parlour.infra.json_values import canonical_json
from parlour.infra.signing_keys import parse_signing_keys

SIGNATURE_HEADER = "parlour-signature"

#: How old a signature may be: longer than a retry of the sender takes, shorter than a replay is useful.
MAX_AGE = timedelta(minutes=5)

_TOKEN_TYPE = "notification+jwt"  # noqa: S105 - a type, no secret
_ALGORITHM = "HS256"


def sign_body(body: bytes, notification_id: str, secret: str, now: datetime) -> str:
    """Return the signature of a body, made with the newest key. Raises Misconfigured for a weak key."""
    claims = {
        "iss": "parlour",
        "jti": notification_id,
        "iat": int(now.timestamp()),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    payload = canonical_json(claims).encode()
    return jwt.PyJWS().encode(payload, parse_signing_keys(secret)[0], _ALGORITHM, {"typ": _TOKEN_TYPE})


def verify_body(body: bytes, signature: str, secret: str, now: datetime) -> str:
    """Return the notification's id, if the signature is of these bytes and recent. Raises Unauthenticated."""
    for key in parse_signing_keys(secret):
        with suppress(jwt.InvalidSignatureError):
            return _read(body, signature, key, now)
    raise Unauthenticated(reason="bad_signature")


def _read(body: bytes, signature: str, key: str, now: datetime) -> str:
    try:
        whole = jwt.PyJWS().decode_complete(signature, key, algorithms=[_ALGORITHM])
        claims = json.loads(whole["payload"])
        is_ours = whole["header"].get("typ") == _TOKEN_TYPE and claims["iss"] == "parlour"
        is_recent = abs(now - datetime.fromtimestamp(claims["iat"], UTC)) <= MAX_AGE
        if is_ours and is_recent and claims["sha256"] == hashlib.sha256(body).hexdigest():
            return str(claims["jti"])
    except jwt.InvalidSignatureError:
        raise
    except (jwt.PyJWTError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise Unauthenticated(reason="malformed") from error
    raise Unauthenticated(reason="not_this_body")
