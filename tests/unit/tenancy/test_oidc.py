import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from parlour.infra.errors import Misconfigured, ProviderUnavailable, Unauthenticated
from parlour.tenancy import oidc
from parlour.tenancy.oidc import Identity, TrustedIssuers

type PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
ISSUER = "https://id.example.com/"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "sub": "person-1",
    "aud": "parlour",
    "iat": int(NOW.timestamp()),
    "exp": int(NOW.timestamp()) + 300,
}


def jwk(key: PrivateKey, kid: str, **more: str) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        public = RSAAlgorithm.to_jwk(key.public_key())
    else:
        public = ECAlgorithm.to_jwk(key.public_key())
    return {**json.loads(public), "kid": kid, **more}


class Provider:
    """An identity provider that counts how often it is asked."""

    def __init__(self, *keys: Any) -> None:
        self.keys = list(keys)
        self.document = {"issuer": ISSUER, "jwks_uri": "https://id.example.com/keys"}
        self.asked: list[str] = []
        self.down = False

    def __call__(self, url: str) -> dict[str, Any]:
        self.asked.append(url)
        if self.down:
            raise ProviderUnavailable
        return self.document if url.endswith("openid-configuration") else {"keys": self.keys}


@pytest.fixture
def provider() -> Provider:
    return Provider(jwk(RSA_KEY, "r1", use="sig", alg="RS256"), jwk(EC_KEY, "e1"))


@pytest.fixture
def issuers(provider: Provider) -> TrustedIssuers:
    return TrustedIssuers([ISSUER], "parlour", provider)


def signed(
    claims: Any = CLAIMS, *, key: PrivateKey = RSA_KEY, algorithm: str = "RS256", kid: str | None = "r1", **headers: Any
) -> str:
    named = {"kid": kid, **headers} if kid else headers
    return jwt.PyJWS().encode(json.dumps(claims).encode(), key, algorithm, named)


def forged(header: dict[str, Any], claims: Any, signature: bytes = b"") -> str:
    """A token put together by hand, since a library refuses to make most bad ones."""
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def refusal(issuers: TrustedIssuers, token: str, now: datetime = NOW) -> str:
    with pytest.raises(Unauthenticated) as refused:
        issuers.verify(token, now)
    assert str(refused.value) == Unauthenticated.__doc__
    return refused.value.reason


def test_a_token_signed_with_rsa_names_its_bearer(issuers: TrustedIssuers) -> None:
    assert issuers.verify(signed(), NOW) == Identity(ISSUER, "person-1")


def test_a_token_signed_on_an_elliptic_curve_names_its_bearer(issuers: TrustedIssuers) -> None:
    assert issuers.verify(signed(key=EC_KEY, algorithm="ES256", kid="e1"), NOW).subject == "person-1"


def test_an_audience_may_be_one_of_several(issuers: TrustedIssuers) -> None:
    assert issuers.verify(signed({**CLAIMS, "aud": ["other", "parlour"]}), NOW).subject == "person-1"


def test_a_token_that_names_no_key_fits_the_only_one_of_its_kind(issuers: TrustedIssuers, provider: Provider) -> None:
    assert issuers.verify(signed(kid=None), NOW).subject == "person-1"
    provider.keys.append(jwk(OTHER_RSA_KEY, "r2"))
    assert refusal(TrustedIssuers([ISSUER], "parlour", provider), signed(kid=None)) == "unknown_key"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example.com"}, "issuer"),
        ({"iss": ISSUER.rstrip("/")}, "issuer"),
        ({"iss": [ISSUER]}, "claim_iss"),
        ({"aud": "other"}, "audience"),
        ({"aud": ["other"]}, "audience"),
        ({"aud": {"parlour": 1}}, "audience"),
        ({"aud": None}, "audience"),
        ({"exp": CLAIMS["iat"] - 30}, "expired"),
        ({"exp": None}, "claim_exp"),
        ({"exp": "9999999999"}, "claim_exp"),
        ({"exp": True}, "claim_exp"),
        ({"exp": float("inf")}, "claim_exp"),
        ({"exp": float("nan")}, "claim_exp"),
        ({"exp": 10**40}, "claim_exp"),
        ({"iat": CLAIMS["iat"] + 31}, "issued_later"),
        ({"iat": None}, "claim_iat"),
        ({"nbf": CLAIMS["iat"] + 31}, "not_yet_valid"),
        ({"nbf": []}, "claim_nbf"),
        ({"sub": ""}, "claim_sub"),
        ({"sub": 7}, "claim_sub"),
        ({"sub": "a\x00"}, "claim_sub"),
        ({"sub": "a\ud800"}, "claim_sub"),
        ({"sub": "a" * 256}, "claim_sub"),
    ],
)
def test_a_claim_that_is_not_in_order_is_refused(issuers: TrustedIssuers, claims: Any, reason: str) -> None:
    assert refusal(issuers, signed({**CLAIMS, **claims})) == reason


def test_clocks_may_be_half_a_minute_apart(issuers: TrustedIssuers) -> None:
    late = {**CLAIMS, "exp": CLAIMS["iat"] - 29}
    early = {**CLAIMS, "iat": CLAIMS["iat"] + 30, "nbf": CLAIMS["iat"] + 30}
    assert issuers.verify(signed(late), NOW)
    assert issuers.verify(signed(early), NOW)


def test_a_token_of_another_key_is_refused(issuers: TrustedIssuers) -> None:
    assert refusal(issuers, signed(key=OTHER_RSA_KEY)) == "signature"


def test_a_changed_token_is_refused(issuers: TrustedIssuers) -> None:
    head, _, signature = signed().split(".")
    changed = base64.urlsafe_b64encode(json.dumps({**CLAIMS, "sub": "admin"}).encode()).rstrip(b"=").decode()
    assert refusal(issuers, f"{head}.{changed}.{signature}") == "signature"


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", ""])
def test_an_unsigned_token_is_refused(issuers: TrustedIssuers, algorithm: str) -> None:
    assert refusal(issuers, forged({"alg": algorithm, "kid": "r1"}, CLAIMS)) == "algorithm"


@pytest.mark.parametrize("encoding", [serialization.Encoding.PEM, serialization.Encoding.DER])
def test_the_public_key_is_no_shared_secret(issuers: TrustedIssuers, encoding: serialization.Encoding) -> None:
    """The confusion of algorithms: HS256 with the public RSA key, which everybody knows, as its secret."""
    public = RSA_KEY.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
    for header in ({"alg": "HS256", "kid": "r1"}, {"alg": "RS256", "kid": "r1"}):
        unsigned = forged(header, CLAIMS).rpartition(".")[0]
        mac = hmac.new(public, unsigned.encode(), hashlib.sha256).digest()
        token = f"{unsigned}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
        assert refusal(issuers, token) in {"algorithm", "signature"}


def test_the_key_decides_the_algorithm(issuers: TrustedIssuers) -> None:
    assert refusal(issuers, signed(key=EC_KEY, algorithm="ES256", kid="r1")) == "unknown_key"
    assert refusal(issuers, signed(algorithm="RS512")) == "algorithm"


def test_critical_extensions_are_refused(issuers: TrustedIssuers) -> None:
    header = {"alg": "RS256", "kid": "r1", "crit": ["exp"], "exp": 1}
    assert refusal(issuers, forged(header, CLAIMS, b"x")) == "algorithm"


def test_an_embedded_key_is_not_used(issuers: TrustedIssuers) -> None:
    public = jwk(OTHER_RSA_KEY, "r1")
    token = signed(key=OTHER_RSA_KEY, jwk=public, jku="https://evil.example.com/keys")
    assert refusal(issuers, token) == "signature"


def test_a_key_too_short_to_trust_is_refused(provider: Provider) -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    provider.keys = [jwk(short, "r1")]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = signed(key=short)
    assert refusal(TrustedIssuers([ISSUER], "parlour", provider), token) == "signature"


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {},
        {"kty": "RSA", "kid": "r1"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "r1", "alg": "HS256"},
        {"kty": ["RSA"], "kid": "r1"},
        {"kty": "RSA", "kid": "r1", "alg": ["RS256"]},
        {"kty": "EC", "crv": "P-384", "kid": "r1"},
        {"kty": "RSA", "n": 5, "e": "AQAB", "kid": "r1"},
        jwk(RSA_KEY, "r1", use="enc"),
        jwk(RSA_KEY, "r1", alg="RS512"),
        {**json.loads(RSAAlgorithm.to_jwk(RSA_KEY)), "kid": "r1"},
    ],
)
def test_an_odd_key_is_passed_over_and_costs_the_others_nothing(odd: Any) -> None:
    issuers = TrustedIssuers([ISSUER], "parlour", Provider(odd, jwk(EC_KEY, "e1")))
    assert refusal(issuers, signed()) == "unknown_key"
    assert issuers.verify(signed(key=EC_KEY, algorithm="ES256", kid="e1"), NOW)


def test_keys_are_read_once_an_hour(issuers: TrustedIssuers, provider: Provider) -> None:
    for minutes in (0, 1, 30, 60):
        issuers.verify(signed({**CLAIMS, "exp": CLAIMS["exp"] + 9000}), NOW + timedelta(minutes=minutes))
    assert len(provider.asked) == 2
    issuers.verify(signed({**CLAIMS, "exp": CLAIMS["exp"] + 9000}), NOW + timedelta(minutes=61))
    assert len(provider.asked) == 4


def test_a_rotated_key_is_picked_up_at_once(issuers: TrustedIssuers, provider: Provider) -> None:
    issuers.verify(signed(), NOW)
    provider.keys = [jwk(OTHER_RSA_KEY, "r2")]
    later = NOW + timedelta(minutes=2)
    assert issuers.verify(signed(key=OTHER_RSA_KEY, kid="r2"), later).subject == "person-1"
    assert refusal(issuers, signed(), later) == "unknown_key"


def test_made_up_key_names_do_not_hammer_the_issuer(issuers: TrustedIssuers, provider: Provider) -> None:
    issuers.verify(signed(), NOW)
    for second in range(60):
        assert refusal(issuers, signed(kid=f"no-{second}"), NOW + timedelta(seconds=second)) == "unknown_key"
    assert len(provider.asked) <= 6


def test_an_issuer_that_is_down_is_no_fault_of_the_token(provider: Provider) -> None:
    provider.down = True
    issuers = TrustedIssuers([ISSUER], "parlour", provider)
    for _ in range(5):
        with pytest.raises(ProviderUnavailable):
            issuers.verify(signed(), NOW)
    assert len(provider.asked) == 1
    provider.down = False
    assert issuers.verify(signed(), NOW + timedelta(seconds=30)).subject == "person-1"


def test_known_keys_serve_for_a_day_while_the_issuer_is_down(issuers: TrustedIssuers, provider: Provider) -> None:
    lasting = {**CLAIMS, "exp": CLAIMS["exp"] + 10 * 86_400}
    issuers.verify(signed(lasting), NOW)
    provider.down = True
    assert issuers.verify(signed(lasting), NOW + timedelta(hours=23)).subject == "person-1"
    with pytest.raises(ProviderUnavailable):
        issuers.verify(signed(lasting), NOW + timedelta(hours=25))


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"issuer": "https://evil.example.com", "jwks_uri": "https://id.example.com/keys"},
        {"issuer": ISSUER, "jwks_uri": "http://id.example.com/keys"},
        {"issuer": ISSUER, "jwks_uri": "http://localhost/keys"},
        {"issuer": ISSUER, "jwks_uri": "https://user:word@id.example.com/keys"},
        {"issuer": ISSUER, "jwks_uri": "file:///etc/passwd"},
        {"issuer": ISSUER, "jwks_uri": 7},
    ],
)
def test_keys_are_only_read_from_where_they_may_be(provider: Provider, document: dict[str, Any]) -> None:
    provider.document = document
    with pytest.raises(ProviderUnavailable):
        TrustedIssuers([ISSUER], "parlour", provider).verify(signed(), NOW)
    assert len(provider.asked) == 1


@pytest.mark.parametrize("keys", [None, {}, "keys"])
def test_a_key_set_without_keys_is_the_issuers_fault(keys: Any) -> None:
    provider = Provider()
    provider.keys = keys
    with pytest.raises(ProviderUnavailable):
        TrustedIssuers([ISSUER], "parlour", provider).verify(signed(), NOW)


@settings(deadline=None, max_examples=50)
@given(
    header=st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.lists(st.text(max_size=3), max_size=2)
        | st.just("RS256"),
    ),
    claims=st.dictionaries(st.text(), st.none() | st.floats() | st.text(), max_size=3) | st.text() | st.integers(),
    signature=st.binary(max_size=300),
)
def test_no_token_breaks_the_checking(header: dict[str, Any], claims: Any, signature: bytes) -> None:
    issuers = TrustedIssuers([ISSUER], "parlour", Provider(jwk(RSA_KEY, "r1")))
    with pytest.raises(Unauthenticated):
        issuers.verify(forged(header, claims, signature), NOW)


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[\w-]{0,40}\.[\w-]{0,40}\.[\w-]{0,40}"))
def test_no_text_breaks_the_checking(text: str) -> None:
    with pytest.raises(Unauthenticated):
        TrustedIssuers([ISSUER], "parlour", Provider()).verify(text, NOW)


def test_a_deeply_nested_token_is_refused(issuers: TrustedIssuers) -> None:
    nested = base64.urlsafe_b64encode(b"[" * 5000).rstrip(b"=").decode()
    good = signed().split(".")
    assert refusal(issuers, f"{nested}.{good[1]}.{good[2]}") == "algorithm"
    assert refusal(issuers, f"{good[0]}.{nested}.{good[2]}") == "malformed"


def test_trusted_issuers_are_listed_in_one_setting() -> None:
    assert oidc.parse_issuers(" https://a.example.com, http://127.0.0.1:8704 ,") == (
        "https://a.example.com",
        "http://127.0.0.1:8704",
    )
    assert oidc.parse_issuers("") == ()


@pytest.mark.parametrize(
    "setting", ["http://id.example.com", "id.example.com", "parlour", "https://", "https://a@b", "http://[::1"]
)
def test_an_issuer_that_is_not_behind_https_is_a_mistake(setting: str) -> None:
    with pytest.raises(Misconfigured):
        oidc.parse_issuers(setting)


def test_the_console_signs_in_with_one_client_id_or_one_for_each_issuer() -> None:
    issuers = ("https://a.example.com/t", "https://b.example.com")
    assert oidc.parse_sign_ins(issuers, "", "") == ()
    assert [one.client_id for one in oidc.parse_sign_ins(issuers, "c", "")] == ["c", "c"]
    ways = oidc.parse_sign_ins(issuers, "c1, c2", "https://tokens.example.com")
    assert [(one.client_id, one.name, one.origins) for one in ways] == [
        ("c1", "a.example.com", ("https://a.example.com", "https://tokens.example.com")),
        ("c2", "b.example.com", ("https://b.example.com", "https://tokens.example.com")),
    ]
    with pytest.raises(Misconfigured, match="OIDC_CLIENT_ID"):
        oidc.parse_sign_ins(issuers, "c1,c2,c3", "")
    with pytest.raises(Misconfigured, match="OIDC_TOKEN_ORIGINS"):
        oidc.parse_sign_ins(issuers, "c", "https://tokens.example.com/token")


def test_console_token_of_its_own_client_id_is_accepted_from_that_issuer_only(provider: Provider) -> None:
    other = "https://other.example.com"
    issuers = TrustedIssuers([ISSUER, other], "parlour", provider, oidc.parse_sign_ins((ISSUER, other), "c1,c2", ""))
    assert issuers.verify(signed({**CLAIMS, "aud": "c1"}), NOW).subject == "person-1"
    assert refusal(issuers, signed({**CLAIMS, "aud": "c2"})) == "audience"
