"""A development identity provider: OpenID Connect discovery, a key set, the authorization code flow with PKCE, and a
token for every caller.

It hands out tokens without a password, so it listens on 127.0.0.1 only and its key never leaves the
laptop's state folder. Only the laptop's console may use the code flow.
`python -m local.issuer --port 8704 --key FILE --console URL --subject NAME` runs it.
"""

import argparse
import base64
import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from jwt.algorithms import RSAAlgorithm
from pydantic import BaseModel, Field

_MAX_LIFETIME = timedelta(days=1)
_CODE_LIFETIME = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Issuer:
    """Signs tokens as `url` with one RSA key."""

    url: str
    key: rsa.RSAPrivateKey
    key_id: str = "development"

    def token(
        self,
        subject: str,
        now: datetime,
        *,
        audience: str = "parlour",
        lifetime: timedelta = timedelta(hours=1),
        nonce: str = "",
    ) -> str:
        """An RS256 token that says its bearer is `subject`, good from `now` for `lifetime`."""
        claims = {
            **({"nonce": nonce} if nonce else {}),
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
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/oauth/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "scopes_supported": ["openid"],
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


@dataclass(frozen=True, slots=True)
class ConsoleClient:
    """The console as the issuer's only client of the code flow: its origin, and whom it signs in by default."""

    origin: str
    subject: str

    def is_redirect(self, address: str) -> bool:
        """Whether a code may be sent to this address: a page of the console."""
        return address.startswith(f"{self.origin}/console/")


class AuthorizationRequest(BaseModel):
    """Parameters of /authorize; login_hint: the subject to sign in, instead of the development member."""

    response_type: Literal["code"]
    client_id: str = Field(min_length=1, max_length=200)
    redirect_uri: str = Field(max_length=2_000)
    code_challenge: str = Field(pattern=r"^[A-Za-z0-9_-]{43}$")
    code_challenge_method: Literal["S256"]
    state: str = Field(default="", max_length=2_000)
    nonce: str = Field(default="", max_length=200)
    scope: str = Field(default="openid", max_length=200)
    login_hint: str = Field(default="", max_length=200)


@dataclass(slots=True)
class AuthorizationCodes:
    """The codes that were given out and not used; each is good once, for a minute."""

    clock: Callable[[], datetime]
    requests: dict[str, tuple[datetime, AuthorizationRequest]] = field(default_factory=dict)

    def issue(self, wanted: AuthorizationRequest) -> str:
        """Return a code for this request; codes that nobody used in time go."""
        now = self.clock()
        self.requests = {code: known for code, known in self.requests.items() if now - known[0] < _CODE_LIFETIME}
        code = secrets.token_urlsafe(24)
        self.requests[code] = (now, wanted)
        return code

    def redeem(self, form: Mapping[str, str]) -> AuthorizationRequest | None:
        """Return the request that the code was given for; None unless verifier, client and redirect address fit."""
        issued_at, wanted = self.requests.pop(form.get("code", ""), (None, None))
        if issued_at is None or wanted is None or self.clock() - issued_at >= _CODE_LIFETIME:
            return None
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        same = (form.get("client_id"), form.get("redirect_uri")) == (wanted.client_id, wanted.redirect_uri)
        return wanted if same and hmac.compare_digest(challenge, wanted.code_challenge) else None


def build_app(issuer: Issuer, clock: Callable[[], datetime], console: ConsoleClient) -> FastAPI:
    """The issuer's routes; a browser may read their answers from the console's pages only."""
    app = FastAPI(title="Development issuer", docs_url=None, redoc_url=None)
    app.add_middleware(CORSMiddleware, allow_origins=[console.origin], allow_methods=["GET", "POST"])
    app.include_router(_code_flow(issuer, clock, console))

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


def _code_flow(issuer: Issuer, clock: Callable[[], datetime], console: ConsoleClient) -> APIRouter:
    """The authorization code flow with PKCE. Nobody is asked for a password: the browser comes back at once."""
    router, codes = APIRouter(), AuthorizationCodes(clock)

    @router.get("/authorize")
    def authorize(wanted: Annotated[AuthorizationRequest, Query()]) -> Response:
        if not console.is_redirect(wanted.redirect_uri):
            return PlainTextResponse(f"redirect_uri: use a page below {console.origin}/console/", 400)
        answer = urlencode({"code": codes.issue(wanted), "state": wanted.state, "iss": issuer.url})
        separator = "&" if "?" in wanted.redirect_uri else "?"
        return RedirectResponse(f"{wanted.redirect_uri}{separator}{answer}", 302)

    @router.post("/oauth/token")
    async def redeem(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        wanted = codes.redeem(form) if form.get("grant_type") == "authorization_code" else None
        headers = {"Cache-Control": "no-store"}
        if wanted is None:
            problem = {"error": "invalid_grant", "error_description": "the code is unknown, used, or not for you"}
            return JSONResponse(problem, 400, headers)
        subject, now = wanted.login_hint or console.subject, clock()
        tokens = {
            "access_token": issuer.token(subject, now),
            "id_token": issuer.token(subject, now, audience=wanted.client_id, nonce=wanted.nonce),
            "token_type": "Bearer",
            "expires_in": int(timedelta(hours=1).total_seconds()),
            "scope": wanted.scope,
        }
        return JSONResponse(tokens, headers=headers)

    return router


def main() -> None:
    """Serve the issuer until told to stop."""
    parser = argparse.ArgumentParser(description="Sign members in on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key", type=Path, required=True, help="where the signing key is kept")
    parser.add_argument("--console", required=True, help="origin of the laptop's console")
    parser.add_argument("--subject", required=True, help="whom the console signs in")
    arguments = parser.parse_args()
    issuer = Issuer(f"http://127.0.0.1:{arguments.port}", load_key(arguments.key))
    console = ConsoleClient(arguments.console.rstrip("/"), arguments.subject)
    app = build_app(issuer, lambda: datetime.now(UTC), console)
    uvicorn.run(app, host="127.0.0.1", port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
