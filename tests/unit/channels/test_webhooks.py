"""The webhook's door: who gets in, what is queued, what is answered, what is logged."""

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import boto3
import pytest
from moto import mock_aws

from local import gupshup_webhooks, meta_webhooks
from parlour.channels.envelope import Envelope
from parlour.channels.intake_messages import needs_bound_secret
from parlour.channels.webhooks import (
    WebhookRequest,
    WebhookResponse,
    WebhookSecrets,
    accept_webhook,
    parse_api_gateway_event,
    serve_api_gateway_event,
)
from parlour.infra.errors import MalformedPayload, Misconfigured, QueueUnavailable
from parlour.infra.json_values import Json
from parlour.infra.queues import REDRIVEN_KEY, QueueMessage, SqsFifoQueue

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
OLD_TOKEN, TOKEN = "first-token-of-the-year", "second-token-of-the-year"
TOKENS = WebhookSecrets((OLD_TOKEN, TOKEN))
SECRET_WORDS = "the slab was poured on a Tuesday"


class Kept:
    """A queue that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[QueueMessage] = []

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        self.messages.extend(messages)


class Broken:
    """A queue that cannot be reached."""

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        raise QueueUnavailable


def a_text(text: str = SECRET_WORDS, message_id: str = "wamid.1") -> bytes:
    event = gupshup_webhooks.text_message(
        app="ParlourDemo", sender="+919800000001", name="Asha", text=text, message_id=message_id, now=NOW
    )
    return json.dumps(event).encode()


def a_webhook(body: bytes = b"", *, method: str = "POST", path: str = f"/webhooks/gupshup/{TOKEN}") -> WebhookRequest:
    return WebhookRequest(method, path, {}, body)


@pytest.fixture
def queue() -> Kept:
    return Kept()


def test_a_message_is_queued_before_the_200_and_the_200_is_empty(queue: Kept) -> None:
    answer = accept_webhook(a_webhook(a_text()), TOKENS, queue, NOW)

    assert answer == WebhookResponse(200, "", 1)
    [message] = queue.messages
    envelope = Envelope.from_json(message.body)
    assert envelope.text == SECRET_WORDS
    assert message.group_id == "whatsapp|gupshup:ParlourDemo|+919800000001"
    assert message.deduplication_id == "whatsapp|text|wamid.1|"


def test_what_comes_with_a_secret_for_any_number_says_so(queue: Kept) -> None:
    bound = WebhookSecrets((OLD_TOKEN, TOKEN), allowed_accounts={TOKEN: frozenset({"ParlourDemo"})})
    for secrets in (TOKENS, bound):
        accept_webhook(a_webhook(a_text()), secrets, queue, NOW)
    assert [needs_bound_secret(message.body) for message in queue.messages] == [True, False]
    assert not needs_bound_secret({**queue.messages[0].body, REDRIVEN_KEY: True})


@pytest.mark.parametrize("token", [OLD_TOKEN, TOKEN])
def test_every_configured_token_opens(queue: Kept, token: str) -> None:
    assert accept_webhook(a_webhook(a_text(), path=f"/webhooks/gupshup/{token}"), TOKENS, queue, NOW).status == 200


@pytest.mark.parametrize("path", [f"/local/webhooks/gupshup/{TOKEN}", f"/webhooks/gupshup/{TOKEN}/"])
def test_a_stage_before_and_a_slash_after_do_not_matter(queue: Kept, path: str) -> None:
    assert accept_webhook(a_webhook(a_text(), path=path), TOKENS, queue, NOW).status == 200


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ключ", "\ud83d"])
def test_any_other_token_is_refused(queue: Kept, token: str) -> None:
    answer = accept_webhook(
        a_webhook(a_text(), path=f"/x/webhooks/gupshup/{token}".replace("//", "/")), TOKENS, queue, NOW
    )

    assert answer.status in {401, 404}
    assert queue.messages == []


def test_nobody_gets_in_when_no_token_is_configured(queue: Kept) -> None:
    assert accept_webhook(a_webhook(a_text()), WebhookSecrets(()), queue, NOW).status == 401
    assert queue.messages == []


@pytest.mark.parametrize("path", ["/", "", "/webhooks", "/webhooks/telex/" + TOKEN, "/gupshup/" + TOKEN])
def test_other_paths_are_not_found(queue: Kept, path: str) -> None:
    assert accept_webhook(a_webhook(a_text(), path=path), TOKENS, queue, NOW).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", ""])
def test_other_methods_are_not_allowed(queue: Kept, method: str) -> None:
    assert accept_webhook(a_webhook(a_text(), method=method), TOKENS, queue, NOW).status == 405


def test_the_provider_may_look_whether_the_hook_is_there(queue: Kept) -> None:
    assert accept_webhook(a_webhook(method="GET"), TOKENS, queue, NOW) == WebhookResponse(200, "", 0)
    assert accept_webhook(a_webhook(method="GET", path="/webhooks/gupshup/guess"), TOKENS, queue, NOW).status == 401


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b" " * (256 * 1024 + 1), 413, "payload_too_large"),
        (b"", 400, "malformed_payload"),
        (b"{", 400, "malformed_payload"),
        (b"\xff\xfe\xfa", 400, "malformed_payload"),
        (b"[" * 100_000, 400, "malformed_payload"),
        (b"9" * 10_000, 400, "malformed_payload"),
        (b"null", 400, "malformed_payload"),
        (b'{"hello": "world"}', 400, "malformed_payload"),
    ],
)
def test_what_cannot_be_read_is_refused(queue: Kept, body: bytes, status: int, code: str) -> None:
    answer = accept_webhook(a_webhook(body), TOKENS, queue, NOW)

    assert (answer.status, json.loads(answer.body), answer.envelope_count) == (status, {"code": code}, 0)
    assert queue.messages == []


def test_256_kib_exactly_is_taken(queue: Kept) -> None:
    body = a_text()

    assert accept_webhook(a_webhook(body + b" " * (256 * 1024 - len(body))), TOKENS, queue, NOW).status == 200


def test_news_about_the_account_are_accepted_and_not_queued(queue: Kept) -> None:
    body = json.dumps({"app": "A", "type": "user-event", "payload": {"type": "sandbox-start"}}).encode()

    assert accept_webhook(a_webhook(body), TOKENS, queue, NOW) == WebhookResponse(200, "", 0)
    assert queue.messages == []


def test_a_queue_that_refuses_makes_the_provider_deliver_again() -> None:
    assert accept_webhook(a_webhook(a_text()), TOKENS, Broken(), NOW).status == 503


@pytest.mark.parametrize(
    "request_", [a_webhook(a_text()), a_webhook(a_text(), path="/webhooks/gupshup/guess-of-a-token"), a_webhook(b"{")]
)
def test_every_request_is_one_log_line_without_payload(
    queue: Kept, caplog: pytest.LogCaptureFixture, request_: WebhookRequest
) -> None:
    with caplog.at_level("INFO"):
        accept_webhook(request_, TOKENS, queue, NOW)

    [line] = caplog.records
    assert line.getMessage() in {"webhook_accepted", "webhook_refused"}
    for secret in (SECRET_WORDS, "919800000001", "Asha", TOKEN, "guess-of-a-token"):
        assert secret not in str(line.__dict__)


@pytest.mark.parametrize("text", ["\x01" * 43_000, "नमस्ते " * 6_000, "\\" * 100_000])
def test_the_longest_text_that_comes_in_fits_the_real_queue(sqs_queue: tuple[Any, str], text: str) -> None:
    client, url = sqs_queue

    assert accept_webhook(a_webhook(a_text(text)), TOKENS, SqsFifoQueue(client, url), NOW).status == 200

    [message] = client.receive_message(QueueUrl=url)["Messages"]
    assert text.startswith(Envelope.from_json(json.loads(message["Body"])).text)
    assert len(message["Body"].encode()) < 1024 * 1024


def test_the_same_webhook_a_thousand_times_is_queued_once(sqs_queue: tuple[Any, str]) -> None:
    client, url = sqs_queue
    queue = SqsFifoQueue(client, url)

    assert {accept_webhook(a_webhook(a_text()), TOKENS, queue, NOW).status for _ in range(1000)} == {200}

    received = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    assert [Envelope.from_json(json.loads(message["Body"])).provider_message_id for message in received] == ["wamid.1"]


def test_a_real_queue_that_is_gone_is_a_503(sqs_queue: tuple[Any, str]) -> None:
    client, url = sqs_queue
    client.delete_queue(QueueUrl=url)

    assert accept_webhook(a_webhook(a_text()), TOKENS, SqsFifoQueue(client, url), NOW).status == 503


@pytest.fixture
def sqs_queue() -> Iterator[tuple[Any, str]]:
    with mock_aws():
        client = boto3.client("sqs", region_name="eu-west-1")
        url = client.create_queue(QueueName="intake.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        yield client, url


class TestMeta:
    """WhatsApp Cloud's webhook: signed bodies, and the question that is asked when it is set."""

    SECRETS = ("first-app-secret-of-the-year", "second-app-secret-of-the-year")
    TOKENS = WebhookSecrets((), SECRETS, ("verify-token-of-ours",))
    BODY = meta_webhooks.encode(
        meta_webhooks.webhook(
            *(
                meta_webhooks.text_message(
                    phone_number_id="106540352242922",
                    sender=f"+9198000000{n}",
                    name="Asha",
                    text=SECRET_WORDS,
                    message_id=f"wamid.{n}",
                    now=NOW,
                )
                for n in (10, 11)
            )
        )
    )

    def signed(self, secret: str, body: bytes = BODY, header: str = meta_webhooks.SIGNATURE_HEADER) -> WebhookRequest:
        return WebhookRequest("POST", "/live/webhooks/whatsapp", {header: meta_webhooks.sign(self.BODY, secret)}, body)

    @pytest.mark.parametrize("secret", SECRETS)
    @pytest.mark.parametrize("header", [meta_webhooks.SIGNATURE_HEADER, meta_webhooks.SIGNATURE_HEADER.lower()])
    def test_a_batch_signed_with_any_of_our_secrets_is_queued_by_person(
        self, queue: Kept, secret: str, header: str
    ) -> None:
        assert accept_webhook(self.signed(secret, header=header), self.TOKENS, queue, NOW) == WebhookResponse(
            200, "", 2
        )
        assert len({message.group_id for message in queue.messages}) == 2

    def test_a_webhook_of_twenty_thousand_statuses_takes_the_queue_few_calls(self, sqs_queue: tuple[Any, str]) -> None:
        told = meta_webhooks.status(phone_number_id="1", kind="read", message_id="m", to="", callback="", now=NOW)
        statuses: list[Json] = [{"id": f"m{number}", "status": "read"} for number in range(20_000)]
        body = meta_webhooks.encode(meta_webhooks.webhook({**told, "statuses": statuses}))
        calls: list[str] = []
        client, url = sqs_queue
        client.meta.events.register("before-call.sqs.SendMessageBatch", lambda **_: calls.append("call"))
        signed = WebhookRequest(
            "POST",
            "/webhooks/whatsapp",
            {meta_webhooks.SIGNATURE_HEADER: meta_webhooks.sign(body, self.SECRETS[0])},
            body,
        )

        assert accept_webhook(signed, self.TOKENS, SqsFifoQueue(client, url), NOW) == WebhookResponse(200, "", 20_000)
        assert len(calls) <= 40

    def test_a_body_that_came_as_base64_is_checked_as_the_bytes_it_was(self, queue: Kept) -> None:
        event = {
            "httpMethod": "POST",
            "path": "/webhooks/whatsapp",
            "isBase64Encoded": True,
            "headers": {meta_webhooks.SIGNATURE_HEADER: meta_webhooks.sign(self.BODY, self.SECRETS[0])},
            "body": base64.b64encode(self.BODY).decode(),
        }
        assert (
            serve_api_gateway_event(event, lambda request: accept_webhook(request, self.TOKENS, queue, NOW))[
                "statusCode"
            ]
            == 200
        )
        assert len(queue.messages) == 2

    @pytest.mark.parametrize("secret", ["another-app-secret-of-somebody", ""])
    def test_another_signature_is_refused(self, queue: Kept, secret: str) -> None:
        assert accept_webhook(self.signed(secret), self.TOKENS, queue, NOW).status == 401
        assert queue.messages == []

    def test_a_changed_byte_is_refused(self, queue: Kept) -> None:
        body = self.BODY.replace(b"Tuesday", b"Monday!")
        assert accept_webhook(self.signed(self.SECRETS[0], body), self.TOKENS, queue, NOW).status == 401

    @pytest.mark.parametrize("value", ["", "sha256=", "sha1=abc", "ключ"])
    def test_no_signature_is_refused(self, queue: Kept, value: str) -> None:
        request = WebhookRequest(
            "POST", "/webhooks/whatsapp", {meta_webhooks.SIGNATURE_HEADER: value} if value else {}, self.BODY
        )
        assert accept_webhook(request, self.TOKENS, queue, NOW).status == 401

    def test_a_secret_that_a_tenant_knows_speaks_for_its_own_numbers_only(self, queue: Kept) -> None:
        mine, theirs = self.SECRETS
        given = {"whatsapp_app_secrets": [mine, {"secret": theirs, "only": ["999999999999999"]}]}
        tokens = WebhookSecrets.parse(json.dumps(given))
        assert accept_webhook(self.signed(theirs), tokens, queue, NOW).status == 401
        assert queue.messages == []
        assert accept_webhook(self.signed(mine), tokens, queue, NOW).status == 200

    @pytest.mark.parametrize(
        "entry", [{"secret": "s" * 20}, {"secret": "s" * 20, "only": []}, {"secret": "short", "only": ["1"]}]
    )
    def test_an_entry_that_says_too_little_is_refused(self, entry: object) -> None:
        with pytest.raises(Misconfigured, match="only"):
            WebhookSecrets.parse(json.dumps({"whatsapp_app_secrets": [entry]}))

    def test_without_a_secret_nobody_gets_in(self, queue: Kept) -> None:
        assert accept_webhook(self.signed(""), WebhookSecrets(), queue, NOW).status == 401
        assert accept_webhook(self.asking("verify-token-of-ours"), WebhookSecrets(), queue, NOW).status == 401

    def asking(self, token: str, **changes: str) -> WebhookRequest:
        query = {"hub.mode": "subscribe", "hub.verify_token": token, "hub.challenge": "1158201444", **changes}
        return WebhookRequest("GET", "/webhooks/whatsapp", {}, b"", query)

    def test_the_challenge_comes_back_as_plain_text(self, queue: Kept) -> None:
        answer = accept_webhook(self.asking("verify-token-of-ours"), self.TOKENS, queue, NOW)
        assert answer == WebhookResponse(200, "1158201444", 0, "text/plain")
        assert serve_api_gateway_event({"httpMethod": "GET", "path": "/", "body": None}, lambda _: answer)[
            "headers"
        ] == {"Content-Type": "text/plain"}

    def test_another_question_is_refused(self, queue: Kept) -> None:
        assert accept_webhook(self.asking("verify-token-of-other"), self.TOKENS, queue, NOW).status == 401
        assert (
            accept_webhook(self.asking("verify-token-of-ours", **{"hub.mode": "x"}), self.TOKENS, queue, NOW).status
            == 400
        )
        long = self.asking("verify-token-of-ours", **{"hub.challenge": "9" * 999})
        assert accept_webhook(long, self.TOKENS, queue, NOW).status == 400

    def test_a_batch_of_three_megabytes_is_the_largest(self, queue: Kept) -> None:
        body = b" " * (3 * 1024 * 1024 + 1)
        assert accept_webhook(self.signed(self.SECRETS[0], body), self.TOKENS, queue, NOW).status == 413


class TestApiGateway:
    """Between a proxy event and a webhook."""

    EVENT: ClassVar = {
        "httpMethod": "POST",
        "path": f"/webhooks/gupshup/{TOKEN}",
        "headers": None,
        "isBase64Encoded": False,
    }

    def test_a_body_arrives_as_bytes_whether_encoded_or_not(self) -> None:
        plain = parse_api_gateway_event({**self.EVENT, "body": "नमस्ते"})
        encoded = parse_api_gateway_event(
            {**self.EVENT, "body": base64.b64encode("नमस्ते".encode()).decode(), "isBase64Encoded": True}
        )

        assert plain == encoded
        assert plain.body.decode() == "नमस्ते"

    def test_a_missing_body_is_empty(self) -> None:
        assert parse_api_gateway_event({**self.EVENT, "body": None}).body == b""

    @pytest.mark.parametrize("body", ["not base64!", "नमस्ते"])
    def test_a_body_that_is_not_the_base64_it_claims_is_a_400(self, body: str) -> None:
        event = {**self.EVENT, "body": body, "isBase64Encoded": True}

        with pytest.raises(MalformedPayload):
            parse_api_gateway_event(event)
        assert serve_api_gateway_event(event, lambda _: WebhookResponse(200, "", 1))["statusCode"] == 400

    def test_the_answer_is_a_proxy_response(self) -> None:
        response = serve_api_gateway_event({**self.EVENT, "body": "{}"}, lambda _: WebhookResponse(200, "", 1))

        assert (response["statusCode"], response["body"]) == (200, "")

    def test_a_wrong_secret_is_a_503_so_that_the_provider_comes_back(self) -> None:
        def take(_: WebhookRequest) -> WebhookResponse:
            raise Misconfigured

        assert serve_api_gateway_event({**self.EVENT, "body": "{}"}, take)["statusCode"] == 503


class TestTokens:
    """The webhook secret."""

    def test_several_tokens_are_read(self) -> None:
        assert WebhookSecrets.parse(json.dumps({"gupshup_tokens": [OLD_TOKEN, TOKEN]})) == TOKENS

    def test_metas_are_read_beside_them_or_alone(self) -> None:
        given = {"whatsapp_app_secrets": [OLD_TOKEN, TOKEN], "whatsapp_verify_tokens": [TOKEN]}

        assert WebhookSecrets.parse(json.dumps(given)) == WebhookSecrets((), (OLD_TOKEN, TOKEN), (TOKEN,))
        assert WebhookSecrets.parse(json.dumps({**given, "gupshup_tokens": [TOKEN]})).gupshup_tokens == (TOKEN,)

    def test_none_are_read_as_none(self) -> None:
        assert WebhookSecrets.parse('{"gupshup_tokens": []}') == WebhookSecrets(())

    @pytest.mark.parametrize(
        "secret",
        ["", "token", "[]", "{}", '{"gupshup_tokens": "one"}', '{"gupshup_tokens": [1]}', '{"gupshup_tokens": [""]}'],
    )
    def test_anything_else_is_a_misconfiguration_that_does_not_quote_the_secret(self, secret: str) -> None:
        with pytest.raises(Misconfigured, match="gupshup_tokens"):
            WebhookSecrets.parse(secret)

    def test_a_token_that_can_be_guessed_is_refused(self) -> None:
        with pytest.raises(Misconfigured, match="16 characters"):
            WebhookSecrets.parse('{"gupshup_tokens": ["hunter2"]}')
