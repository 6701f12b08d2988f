"""From the headers of a request to a principal."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm

from parlour.infra.errors import CallerError, Forbidden, InvalidRequest, Misconfigured, NotFound, Unauthenticated
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.tenancy import api_keys, authentication, members, oidc, tenants, users, visitor_tokens
from parlour.tenancy.authentication import AuthenticatedCaller, Authenticator, Credentials
from parlour.tenancy.json_fetcher import JsonFetcher
from parlour.tenancy.oidc import TrustedIssuers
from parlour.tenancy.visitor_tokens import VisitorClaims
from tests.conftest import NOW
from tests.integration.tenancy.conftest import SampleTenant, execute_sql

TOKEN_SECRET = "t" * 40
OPERATOR_KEY = "operator-key-of-this-test-deployment"
SIGNING_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)

type Caller = Callable[..., AuthenticatedCaller]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """An identity provider on a real socket."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            public = json.loads(RSAAlgorithm.to_jwk(SIGNING_KEY.public_key()))
            discovery = {"issuer": url, "jwks_uri": f"{url}/keys"}
            body = json.dumps({"keys": [{**public, "kid": "k1"}]} if self.path == "/keys" else discovery).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield url
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def sign_in(issuer: str) -> Authenticator:
    return Authenticator(TrustedIssuers([issuer], "parlour", JsonFetcher()), lambda: TOKEN_SECRET, lambda: OPERATOR_KEY)


@pytest.fixture
def call(sign_in: Authenticator, database: Database) -> Caller:
    """A request arrives with these headers."""

    def authenticate(bearer: str, tenant: str = "", at: datetime = NOW) -> AuthenticatedCaller:
        return sign_in.authenticate(Credentials(f"Bearer {bearer}", tenant), database, at)

    return authenticate


def token(issuer: str, subject: str = "asha", **changes: Any) -> str:
    at = int(NOW.timestamp())
    claims = {"iss": issuer, "sub": subject, "aud": "parlour", "iat": at, "exp": at + 300, **changes}
    return jwt.PyJWS().encode(json.dumps(claims).encode(), SIGNING_KEY, "RS256", {"kid": "k1"})


def join(database: Database, firm: SampleTenant, issuer: str, roles: list[str], clearance: int = 1) -> UUID:
    """Asha becomes a member of the firm."""
    with database.transaction(firm.operator) as tx:
        return members.add_member(
            firm.operator,
            tx,
            members.NewMember(issuer=issuer, subject="asha", display_name="Asha", roles=roles, clearance=clearance),
            now=NOW,
        ).id


def make_key(database: Database, firm: SampleTenant) -> api_keys.CreatedApiKey:
    with database.transaction(firm.admin) as tx:
        return api_keys.create_key(firm.admin, tx, api_keys.NewApiKey("k", ["viewer"], 2), NOW)


def visit(database: Database, firm: SampleTenant) -> VisitorClaims:
    with database.transaction(firm.tenant_id) as tx:
        opened = users.create_visitor(tx, binding_id=firm.binding_id, now=NOW)
    return VisitorClaims(firm.tenant_id, opened.user_id, firm.binding_id, opened.session_id)


def refused(call: Caller, *arguments: Any) -> None:
    """One sentence for everything that is wrong with credentials."""
    with pytest.raises(Unauthenticated) as refusal:
        call(*arguments)
    assert str(refusal.value) == Unauthenticated.__doc__
    assert refusal.value.reason


def test_a_member_signs_in_with_an_issuers_token(
    database: Database, acme: SampleTenant, call: Caller, issuer: str
) -> None:
    member_id = join(database, acme, issuer, ["viewer"], clearance=2)
    signed_in = call(token(issuer), "acme")
    assert signed_in.principal == Principal(acme.tenant_id, "member", member_id, frozenset({"viewer"}), 2)
    assert (signed_in.tenant.slug, signed_in.tenant.status, signed_in.visitor) == ("acme", "active", None)
    assert signed_in.tenant == tenants.find_tenant_by_slug(database, "acme")


def test_a_member_of_one_tenant_is_nobody_in_another(
    database: Database, acme: SampleTenant, brick: SampleTenant, call: Caller, issuer: str
) -> None:
    join(database, acme, issuer, ["admin"])
    for slug in ("brick", "nobody", "ACME", "acme\x00", "a\ud800"):
        refused(call, token(issuer), slug)


def test_a_member_may_enter_the_open_tenants_of_which_they_are_active(
    database: Database, acme: SampleTenant, brick: SampleTenant, sign_in: Authenticator, issuer: str
) -> None:
    def slugs(subject: str = "asha") -> list[str]:
        bearer = Credentials(f"Bearer {token(issuer, subject)}", "")
        return [tenant.slug for tenant in sign_in.list_tenants(bearer, database, NOW).tenants]

    join(database, brick, issuer, ["admin"])
    member_id = join(database, acme, issuer, ["viewer"])
    assert slugs() == ["acme", "brick"]
    assert slugs("somebody") == []
    with database.transaction(acme.admin) as tx:
        members.update_member(acme.admin, tx, member_id, members.MemberChange([], 0, active=False), NOW)
    assert slugs() == ["brick"]
    with database.transaction(brick.operator) as tx:
        tenants.set_tenant_status(brick.operator, tx, "archived", NOW)
    assert slugs() == []
    with pytest.raises(Unauthenticated):
        sign_in.list_tenants(Credentials(f"Bearer {token(issuer, aud='other')}", ""), database, NOW)


@pytest.mark.usefixtures("acme", "brick")
def test_a_tenant_list_beyond_its_limit_says_so(
    database: Database, sign_in: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "MAX_TENANTS", 1)
    choice = sign_in.list_tenants(Credentials(f"Bearer {OPERATOR_KEY}", ""), database, NOW)
    assert ([tenant.slug for tenant in choice.tenants], choice.has_more) == (["acme"], True)


def test_roles_are_read_anew_for_each_request(
    database: Database, acme: SampleTenant, call: Caller, issuer: str, now: datetime
) -> None:
    member_id = join(database, acme, issuer, ["admin"])
    with database.transaction(acme.admin) as tx:
        members.update_member(acme.admin, tx, member_id, members.MemberChange([], 0, active=True), now)
    assert call(token(issuer), "acme").principal.roles == frozenset()
    with database.transaction(acme.admin) as tx:
        members.update_member(acme.admin, tx, member_id, members.MemberChange([], 0, active=False), now)
    refused(call, token(issuer), "acme")


def test_a_token_that_is_not_in_order_is_refused(
    database: Database, acme: SampleTenant, call: Caller, issuer: str
) -> None:
    join(database, acme, issuer, ["admin"])
    refused(call, token(issuer, exp=int(NOW.timestamp()) - 60), "acme")
    refused(call, token(issuer, aud="other"), "acme")
    refused(call, token(issuer, sub="somebody"), "acme")
    refused(call, token("http://127.0.0.1:1"), "acme")


def test_a_member_says_which_tenant(database: Database, acme: SampleTenant, call: Caller, issuer: str) -> None:
    join(database, acme, issuer, ["admin"])
    with pytest.raises(InvalidRequest, match="Parlour-Tenant"):
        call(token(issuer))


def test_a_key_signs_in_by_itself(database: Database, acme: SampleTenant, call: Caller) -> None:
    created = make_key(database, acme)
    for slug in ("", "acme"):
        signed_in = call(created.text, slug)
        assert signed_in.principal == Principal(acme.tenant_id, "key", created.key.id, frozenset({"viewer"}), 2)


def test_a_key_is_of_one_tenant(database: Database, acme: SampleTenant, brick: SampleTenant, call: Caller) -> None:
    text = make_key(database, acme).text
    refused(call, text, "brick")
    refused(call, text.replace(acme.tenant_id.hex, brick.tenant_id.hex))
    refused(call, text.replace(acme.tenant_id.hex, "0" * 32))


def test_a_key_with_another_secret_is_refused(database: Database, acme: SampleTenant, call: Caller) -> None:
    first, second = make_key(database, acme).text, make_key(database, acme).text
    refused(call, first[:-64] + second[-64:])
    refused(call, first[:-1] + ("0" if first[-1] != "0" else "1"))


def test_a_revoked_key_is_refused(database: Database, acme: SampleTenant, call: Caller, now: datetime) -> None:
    created = make_key(database, acme)
    with database.transaction(acme.admin) as tx:
        api_keys.revoke_key(acme.admin, tx, created.key.id, now)
    refused(call, created.text)


def test_the_operator_acts_in_the_tenant_that_is_named(acme: SampleTenant, call: Caller) -> None:
    signed_in = call(OPERATOR_KEY, "acme")
    assert signed_in.principal == acme.operator
    assert signed_in.tenant.slug == "acme"


def test_the_operator_is_told_when_there_is_no_such_tenant(acme: SampleTenant, call: Caller) -> None:
    with pytest.raises(NotFound):
        call(OPERATOR_KEY, "nobody")
    with pytest.raises(InvalidRequest):
        call(OPERATOR_KEY)


def test_nothing_but_the_operators_key_is_the_operators(
    acme: SampleTenant, call: Caller, sign_in: Authenticator
) -> None:
    for bearer in (OPERATOR_KEY[:-1], OPERATOR_KEY + "x", OPERATOR_KEY.upper(), "é", "x"):
        refused(call, bearer, "acme")
        assert sign_in.find_operator(Credentials(f"Bearer {bearer}", "acme"), NOW) is None


def test_the_operator_is_known_before_there_is_a_tenant(sign_in: Authenticator) -> None:
    assert sign_in.find_operator(Credentials(f"Bearer {OPERATOR_KEY}", ""), NOW) == ""
    assert sign_in.find_operator(Credentials("", ""), NOW) is None


def test_a_short_operator_secret_lets_nobody_in(database: Database, acme: SampleTenant) -> None:
    for secret in ("", " ", "\n", "short", "x" * 31):
        weak = Authenticator(TrustedIssuers([], "parlour", JsonFetcher()), lambda: TOKEN_SECRET, secret.__str__)
        credentials = Credentials(f"Bearer {secret.strip() or 'x'}", "acme")
        assert weak.find_operator(credentials, NOW) is None
        with pytest.raises(Unauthenticated):
            weak.authenticate(credentials, database, NOW)


def test_a_visitor_signs_in_with_the_token_they_were_given(
    database: Database, acme: SampleTenant, call: Caller, sign_in: Authenticator
) -> None:
    whom = visit(database, acme)
    issued = sign_in.issue_visitor_token(whom, NOW)
    signed_in = call(issued.text)
    assert signed_in.principal == Principal(acme.tenant_id, "user", whom.user_id, clearance=1)
    assert signed_in.visitor == whom
    refused(call, issued.text, "", issued.expires_at + timedelta(minutes=1))
    refused(call, issued.text, "brick")


def test_a_visitors_clearance_is_read_anew(
    database: Database, acme: SampleTenant, call: Caller, sign_in: Authenticator
) -> None:
    bearer = sign_in.issue_visitor_token(visit(database, acme), NOW).text
    with database.transaction(acme.tenant_id) as tx:
        execute_sql(tx, "UPDATE users SET clearance = 0")
    assert call(bearer).principal.clearance == 0


def test_a_visitor_who_was_forgotten_is_refused(
    database: Database, acme: SampleTenant, call: Caller, sign_in: Authenticator
) -> None:
    bearer = sign_in.issue_visitor_token(visit(database, acme), NOW).text
    with database.transaction(acme.tenant_id) as tx:
        execute_sql(tx, "DELETE FROM users")
    refused(call, bearer)


def test_a_visitors_token_of_another_tenant_finds_nobody(
    database: Database, acme: SampleTenant, brick: SampleTenant, call: Caller, sign_in: Authenticator
) -> None:
    whom = visit(database, acme)
    refused(
        call, sign_in.issue_visitor_token(VisitorClaims(brick.tenant_id, whom.user_id, whom.binding_id, None), NOW).text
    )
    refused(
        call,
        sign_in.issue_visitor_token(VisitorClaims(brick.tenant_id, whom.user_id, brick.binding_id, None), NOW).text,
    )


def test_a_visitors_token_never_passes_as_a_members(
    database: Database, acme: SampleTenant, call: Caller, sign_in: Authenticator, issuer: str
) -> None:
    """Even with every claim of a member's in it, signed with the visitors' secret."""
    join(database, acme, issuer, ["admin"])
    at = int(NOW.timestamp())
    claims = {"iss": issuer, "sub": "asha", "aud": "parlour", "typ": "visitor", "iat": at, "exp": at + 300}
    for kind in ("JWT", "visitor+jwt", "at+jwt", ""):
        forged = jwt.PyJWS().encode(json.dumps(claims).encode(), TOKEN_SECRET, "HS256", {"typ": kind, "kid": "k1"})
        refused(call, forged, "acme")


def test_a_members_token_never_passes_as_a_visitors(
    database: Database, acme: SampleTenant, call: Caller, issuer: str
) -> None:
    """Even with every claim of a visitor's in it, signed by a trusted issuer."""
    whom = visit(database, acme)
    at = int(NOW.timestamp())
    claims = {"ten": whom.tenant_id, "bnd": whom.binding_id, "sub": whom.user_id, "iss": "parlour", "typ": "visitor"}
    payload = json.dumps({**claims, "iat": at, "exp": at + 300, "aud": "parlour"}, default=str).encode()
    for kind in ("visitor+jwt", "JWT"):
        refused(call, jwt.PyJWS().encode(payload, SIGNING_KEY, "RS256", {"typ": kind, "kid": "k1"}), "acme")


def test_a_paused_tenants_people_sign_in_and_see_that_it_is_paused(
    database: Database, acme: SampleTenant, call: Caller, sign_in: Authenticator, issuer: str
) -> None:
    join(database, acme, issuer, ["admin"])
    bearers = [
        token(issuer),
        make_key(database, acme).text,
        sign_in.issue_visitor_token(visit(database, acme), NOW).text,
    ]
    with database.transaction(acme.admin) as tx:
        tenants.set_tenant_status(acme.admin, tx, "paused", NOW)
    assert {call(bearer, "acme").tenant.status for bearer in bearers} == {"paused"}


def test_an_archived_tenant_lets_only_the_operator_in(
    database: Database, acme: SampleTenant, call: Caller, sign_in: Authenticator, issuer: str
) -> None:
    join(database, acme, issuer, ["admin"])
    bearers = [
        token(issuer),
        make_key(database, acme).text,
        sign_in.issue_visitor_token(visit(database, acme), NOW).text,
    ]
    with database.transaction(acme.operator) as tx:
        tenants.set_tenant_status(acme.operator, tx, "archived", NOW)
    for bearer in bearers:
        with pytest.raises(Forbidden):
            call(bearer, "acme")
    assert call(OPERATOR_KEY, "acme").tenant.status == "archived"


def test_the_reason_is_logged_and_the_bearer_is_not(
    acme: SampleTenant, call: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    refused(call, "a-bearer-that-nobody-knows", "acme")
    (record,) = caplog.records
    assert (record.message, record.__dict__["reason"]) == ("authentication_failed", "unknown_bearer")
    assert "a-bearer-that" not in str(record.__dict__)


SEGMENT = st.binary(max_size=60).map(lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"=").decode())
BEARERS = (
    st.text()
    | st.from_regex(r"parlour_[0-9a-f]{32}_[0-9a-f]{96}", fullmatch=True)
    | st.builds("{}.{}.{}".format, SEGMENT, SEGMENT, SEGMENT)
    | st.text(min_size=1).map(lambda text: text * 2000)
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bearer=BEARERS, tenant=st.text() | st.just("acme"))
def test_no_credentials_break_the_door(acme: SampleTenant, call: Caller, bearer: str, tenant: str) -> None:
    with pytest.raises(CallerError):
        call(bearer, tenant)


ODD = st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.lists(st.text(), max_size=2)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["ten", "sub", "bnd", "ses", "iss", "typ", "exp", "iat", "nbf"]), value=ODD)
def test_odd_claims_of_our_own_signing_break_nothing(
    acme: SampleTenant, call: Caller, name: str, value: object
) -> None:
    issued = visitor_tokens.issue_token(
        VisitorClaims(acme.tenant_id, UUID(int=1), acme.binding_id, None), TOKEN_SECRET, NOW
    ).text
    claims = jwt.PyJWS().decode(issued, TOKEN_SECRET, algorithms=["HS256"])
    odd = json.dumps({**json.loads(claims), name: value}).encode()
    with pytest.raises(Unauthenticated):
        call(jwt.PyJWS().encode(odd, TOKEN_SECRET, "HS256", {"typ": visitor_tokens.VISITOR_TOKEN_TYPE}))


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["iss", "sub", "aud", "exp", "iat", "nbf", "jti"]), value=ODD)
def test_odd_claims_of_a_trusted_issuer_break_nothing(
    acme: SampleTenant, call: Caller, issuer: str, name: str, value: object
) -> None:
    with pytest.raises(Unauthenticated):
        call(token(issuer, **{name: value}), "acme")  # type: ignore[arg-type]


def test_the_operators_key_signs_in_only_where_the_deployment_allows_it(
    database: Database, acme: SampleTenant, issuer: str
) -> None:
    credentials = Credentials(f"Bearer {OPERATOR_KEY}", acme.slug)
    for allowed in (True, False):
        issuers = TrustedIssuers(oidc.parse_issuers(issuer), "parlour", JsonFetcher())
        sign_in = Authenticator(issuers, lambda: TOKEN_SECRET, lambda: OPERATOR_KEY, allows_operator_key=allowed)
        assert (sign_in.find_operator(credentials, NOW) == "") is allowed
        if allowed:
            assert sign_in.authenticate(credentials, database, NOW).principal.kind == "operator"
        else:
            with pytest.raises(Unauthenticated):
                sign_in.authenticate(credentials, database, NOW)


def test_an_operator_signs_in_by_name_and_then_no_key_does(
    issuer: str, database: Database, acme: SampleTenant, brick: SampleTenant
) -> None:
    who = oidc.parse_operators(f"{issuer}#asha")
    named = Authenticator(
        TrustedIssuers([issuer], "parlour", JsonFetcher()), lambda: TOKEN_SECRET, lambda: OPERATOR_KEY, who
    )
    for firm in (acme, brick):
        signed_in = named.authenticate(Credentials(f"Bearer {token(issuer)}", firm.slug), database, NOW)
        assert (signed_in.principal.kind, signed_in.principal.name) == ("operator", "operator:asha")
    assert named.find_operator(Credentials(f"Bearer {token(issuer)}", ""), NOW) == "asha"
    assert named.find_operator(Credentials(f"Bearer {token(issuer, 'mallory')}", ""), NOW) is None
    assert named.find_operator(Credentials(f"Bearer {OPERATOR_KEY}", ""), NOW) is None
    for bearer in (OPERATOR_KEY, token(issuer, "mallory")):
        with pytest.raises(Unauthenticated):
            named.authenticate(Credentials(f"Bearer {bearer}", acme.slug), database, NOW)


@pytest.mark.parametrize("text", ["asha", "https://id.example", "#asha", "https://id.example#asha,ines"])
def test_operators_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(Misconfigured, match="OPERATORS"):
        oidc.parse_operators(text)
