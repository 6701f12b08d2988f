"""A development identity provider: OpenID Connect discovery, a key set, and a token for whoever asks.

It hands out tokens without a password, so it listens on 127.0.0.1 only and its key never leaves the
laptop's state folder. `python -m local.issuer --port 8704 --key FILE` runs it.
"""

import argparse
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI
from jwt.algorithms import RSAAlgorithm
from pydantic import BaseModel, Field

_MAX_LIFETIME = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Issuer:
    """Signs tokens as `url` with one RSA key."""

    url: str
    key: rsa.RSAPrivateKey
    key_id: str = "development"

    def token(
        self, subject: str, now: datetime, *, audience: str = "parlour", lifetime: timedelta = timedelta(hours=1)
    ) -> str:
        """An RS256 token that says its bearer is `subject`, good from `now` for `lifetime`."""
        claims = {
            "iss": self.url,
            "sub": subject,
            "aud": audience,
            "iat": now,
            "exp": now + min(lifetime, _MAX_LIFETIME),
            "jti": uuid.uuid4().hex,
        }
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": self.key_id})

    def discovery(self) -> dict[str, Any]:
        """What `/.well-known/openid-configuration` answers."""
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks.json",
            "token_endpoint": f"{self.url}/token",
            "response_types_supported": ["token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def keys(self) -> dict[str, Any]:
        """The public key, as a JWK set."""
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": self.key_id, "use": "sig", "alg": "RS256"}]}


def load_key(file: Path) -> rsa.RSAPrivateKey:
    """The key in `file`; made and written there, readable by its owner only, when there is none."""
    if not file.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        file.touch(mode=0o600)
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    loaded = serialization.load_pem_private_key(file.read_bytes(), password=None)
    if not isinstance(loaded, rsa.RSAPrivateKey):
        raise TypeError(f"{file} does not contain an RSA key: delete it and start again")
    return loaded


class TokenRequest(BaseModel):
    """Whom the token is for, and for how many seconds."""

    subject: str = Field(min_length=1, max_length=200)
    audience: str = "parlour"
    lifetime: int = Field(default=3600, gt=0, le=int(_MAX_LIFETIME.total_seconds()))


def build_app(issuer: Issuer, clock: Callable[[], datetime]) -> FastAPI:
    """The issuer's three routes."""
    app = FastAPI(title="Development issuer", docs_url=None, redoc_url=None)

    @app.get("/.well-known/openid-configuration")
    def discovery() -> dict[str, Any]:
        return issuer.discovery()

    @app.get("/jwks.json")
    def keys() -> dict[str, Any]:
        return issuer.keys()

    @app.post("/token")
    def token(wanted: TokenRequest) -> dict[str, Any]:
        lifetime = timedelta(seconds=wanted.lifetime)
        signed = issuer.token(wanted.subject, clock(), audience=wanted.audience, lifetime=lifetime)
        return {"access_token": signed, "token_type": "Bearer", "expires_in": wanted.lifetime}

    return app


def main() -> None:
    """Serve the issuer until told to stop."""
    parser = argparse.ArgumentParser(description="Sign members in on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key", type=Path, required=True, help="where the signing key is kept")
    arguments = parser.parse_args()
    issuer = Issuer(f"http://127.0.0.1:{arguments.port}", load_key(arguments.key))
    app = build_app(issuer, lambda: datetime.now(UTC))
    uvicorn.run(app, host="127.0.0.1", port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
