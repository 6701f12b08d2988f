"""The environment, read in one place: one class per function, one field per variable of the template."""

import os
from decimal import Decimal
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from parlour.infra.errors import Misconfigured

_SANDBOX_VARIABLES = ("LD_LIBRARY_PATH", "PATH", "SSL_CERT_FILE")


class Settings(BaseSettings):
    """What every function is given. Field names are the variables' names in lower case."""

    model_config = SettingsConfigDict(env_prefix="", extra="ignore", frozen=True)

    environment: str = Field(default="local", description="what this deployment is called; tags and links use it")
    powertools_service_name: str = Field(
        default="parlour", description="the stack's name; the logging library puts it on every line and metric"
    )


class LaptopModelSettings(Settings):
    """Who answers on a laptop. In the cloud the model's key and the agents decide alone."""

    laptop_model: Literal["", "live", "offline", "demo"] = Field(
        default="", description="demo: without a key, play the scenes of packs that have some; empty: in the cloud"
    )


class DatabaseSettings(Settings):
    """How to reach the database as the app role."""

    database_secret: str = Field(description="secret: JSON with username, password and, on a laptop, host and dbname")
    database_host: str = Field(default="", description="cluster or proxy endpoint; overrides the secret's host")
    database_name: str = Field(default="parlour")
    database_idle: bool = Field(default=False, description="close after each invocation, so that Aurora may pause")


class WakeSettings(DatabaseSettings):
    """Who may wake a session's turn."""

    turns_messaging_queue_url: str
    turns_web_queue_url: str


class EmbeddingModelSettings(Settings):
    """Which models turn text into vectors: the deployment's own, and further ones. Without a URL it is Bedrock's."""

    embedding_url: str = Field(default="", description="base URL of an OpenAI-compatible embeddings endpoint")
    embedding_model: str = Field(default="amazon.titan-embed-text-v2:0")
    embedding_dimensions: int = Field(default=512, description="of the vectors the model is asked for")
    embedding_models: str = Field(
        default="[]", description='JSON [{"model", "dimensions", "url"?}]: further models that tenants may be moved to'
    )


class EmbeddingSettings(EmbeddingModelSettings):
    """What is needed to embed, and to have rows embedded."""

    embedding_secret: str = Field(default="", description='secret: JSON {"model": "key"}; empty: no endpoint asks')
    embedding_queue_url: str


class PackFunctionSettings(Settings):
    """Where the code of packs runs."""

    pack_function_prefix: str = Field(
        default="parlour-pack-", description="how the function with a tenant's code is named; its slug follows"
    )


class PrivateHostSettings(Settings):
    """What tools and webhooks may reach besides public hosts that their tenant lists."""

    private_tool_hosts: str = Field(
        default="",
        description="tenant@host, tenant@host:port or tenant@host=http://other:port, comma-separated: what that "
        "tenant's tools may reach although it is private or plain http",
    )


class ToolSettings(PackFunctionSettings, PrivateHostSettings):
    """What tools may reach, and the functions of packs."""


class SpendSettings(Settings):
    """What model calls may cost."""

    daily_cap_usd: Decimal = Field(default=Decimal(20), description="for a tenant that has no cap of its own")


class PulseSpendSettings(SpendSettings):
    """What Pulses may cost of that."""

    pulse_daily_cap_usd: Decimal = Field(
        default=Decimal(5), description="of the daily cap, for a tenant that has no Pulse budget of its own"
    )


class PulseSettings(PulseSpendSettings):
    """The same, and who writes them."""

    pulse_queue_url: str


class InboundSettings(Settings):
    """The webhook's door: a queue and the tokens, no database."""

    intake_queue_url: str
    webhook_secret: str = Field(
        description='secret: JSON {"gupshup_tokens": [...], "whatsapp_app_secrets": [...], '
        '"whatsapp_verify_tokens": [...]}; more than one of each while rotating'
    )


class ReceiverSettings(WakeSettings):
    """Intake queue to stored message; media to the bucket."""

    intake_queue_url: str
    outbox_queue_url: str
    wakeups_queue_url: str
    unbound_webhook_secrets: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="what comes with a webhook secret that is bound to no number, once several tenants have numbers",
    )
    media_bucket: str
    whatsapp_base_url: str = Field(default="https://graph.facebook.com")


class OrchestratorSettings(DatabaseSettings, EmbeddingSettings, ToolSettings, SpendSettings, LaptopModelSettings):
    """One turn; pictures from the bucket."""

    outbox_queue_url: str
    tools_queue_url: str
    memory_queue_url: str
    wakeups_queue_url: str
    max_tenant_turns: int = Field(
        default=20, description="workers that the turns of one tenant hold at once; further turns wait"
    )
    media_bucket: str
    bedrock_claude: bool = Field(default=False, description="whether agents may use the provider bedrock")
    model_secret: str = Field(description='secret: JSON {"anthropic_api_key": "..."}; empty: none configured')
    anthropic_base_url: str = Field(default="", description="for a gateway or a test server; empty: the provider's own")
    whatsapp_base_url: str = Field(default="https://graph.facebook.com")


class IngestSettings(DatabaseSettings, SpendSettings):
    """Uploaded files to searchable rows."""

    files_bucket: str
    file_reader_function: str = Field(description="the name of the function that reads files")
    embedding_queue_url: str
    bedrock_claude: bool = Field(default=False, description="whether summaries may use the provider bedrock")
    model_secret: str = Field(description='secret: JSON {"anthropic_api_key": "..."}; empty: none configured')
    anthropic_base_url: str = Field(default="", description="for a gateway or a test server; empty: the provider's own")


class FileReaderSettings(Settings):
    """Nothing: it is told two addresses, call by call."""


class ProviderSettings(Settings):
    """Where channel providers are."""

    gupshup_base_url: str = Field(default="https://api.gupshup.io")
    whatsapp_base_url: str = Field(default="https://graph.facebook.com")


class OutboundSettings(DatabaseSettings, ProviderSettings, PrivateHostSettings):
    """The way out to channel providers, and to the people and systems that are notified."""

    wakeups_queue_url: str
    public_url: str = Field(description="where notifications link to")
    mail_from: str = Field(default="", description="the sender of notifications; empty: no mail is sent")
    mail_configuration_set: str = Field(default="", description="of SES: it reports bounces")
    smtp_url: str = Field(
        default="", description="smtp://host:port of a mail server on the laptop; empty: SES sends the mail"
    )


class ToolDispatcherSettings(WakeSettings, EmbeddingSettings, ToolSettings):
    """Heavy tool calls."""

    wakeups_queue_url: str
    token_secret: str = Field(description="secret: the key that call-back tokens are signed with")
    public_url: str = Field(description="where tools that answer later call back")


class SweepSettings(WakeSettings):
    """What is due and was left lying."""

    outbox_queue_url: str
    tools_queue_url: str
    wakeups_queue_url: str
    embedding_queue_url: str
    ingest_queue_url: str
    memory_queue_url: str
    ledger_days: int = Field(default=30, ge=1, description="how long the record of a prompt is kept at least")


class EmbedderSettings(DatabaseSettings, EmbeddingSettings, SpendSettings):
    """Rows to vectors."""

    pulse_wakeups_queue_url: str


class PulseSweepSettings(DatabaseSettings, PulseSettings):
    """Due Pulses to their writers."""

    pulse_wakeups_queue_url: str


class PulseWriterSettings(DatabaseSettings, PulseSpendSettings, LaptopModelSettings):
    """One record's Pulses."""

    pulse_wakeups_queue_url: str
    pulse_age_hours: int = Field(default=24, ge=1, description="how old a Pulse gets before it is compared anew")
    bedrock_claude: bool = Field(default=False, description="whether Pulses may use the provider bedrock")
    model_secret: str = Field(description='secret: JSON {"anthropic_api_key": "..."}; empty: none configured')
    anthropic_base_url: str = Field(default="", description="for a gateway or a test server; empty: the provider's own")


class MemoryExtractorSettings(DatabaseSettings, SpendSettings):
    """Conversations to what is remembered of them; old messages to the bucket."""

    memory_queue_url: str
    embedding_queue_url: str
    media_bucket: str
    bedrock_claude: bool = Field(default=False, description="whether agents may use the provider bedrock")
    model_secret: str = Field(description='secret: JSON {"anthropic_api_key": "..."}; empty: none configured')
    anthropic_base_url: str = Field(default="", description="for a gateway or a test server; empty: the provider's own")


class HttpApiSettings(
    WakeSettings, EmbeddingSettings, PulseSettings, ProviderSettings, LaptopModelSettings, PrivateHostSettings
):
    """REST and the console; every queue with its dead letters, for redriving."""

    intake_queue_url: str
    intake_dead_letters_url: str
    turns_messaging_dead_letters_url: str
    turns_web_dead_letters_url: str
    tools_queue_url: str
    tools_dead_letters_url: str
    outbox_queue_url: str
    outbox_dead_letters_url: str
    ingest_queue_url: str
    ingest_dead_letters_url: str
    wakeups_queue_url: str
    files_bucket: str
    media_bucket: str
    token_secret: str = Field(description="secret: the key that visitor tokens are signed with")
    operator_secret: str = Field(description="secret: the deployment operator's key")
    oidc_issuers: str = Field(default="", description="issuers whose tokens members may carry, comma-separated")
    oidc_audience: str = Field(default="parlour")
    oidc_client_id: str = Field(
        default="", description="the console's client id at the issuers: one, or one for each; empty: no sign-in there"
    )
    oidc_token_origins: str = Field(
        default="", description="origins of token endpoints that are not their issuer's, comma-separated"
    )
    operators: str = Field(
        default="", description="who runs the deployment: issuer#subject, comma-separated; empty: the operator's key"
    )
    public_url: str = Field(default="", description="where the deployment is reached: no tenant may claim its host")
    allow_operator_key: bool = Field(
        default=False, description="whether the operator's key signs in: for a laptop, and for setting up"
    )
    challenge_verify_url: str = Field(
        default="", description="where answers of new visitors' challenges are checked (Turnstile); empty: no challenge"
    )
    challenge_secret: str = Field(default="", description="secret: the key of that service")


class RuntimeSettings(Settings):
    """What Lambda tells a runtime: the host and port of its Runtime API."""

    aws_lambda_runtime_api: str


class HttpStreamSettings(HttpApiSettings):
    """The routes that stream. They are the API's, with its variables and fewer permissions; the variable of their own
    names the runtime that streams."""

    aws_lambda_exec_wrapper: str


class MigrateSettings(DatabaseSettings, EmbeddingModelSettings):
    """The owner role, for migrations and the indexes over vectors."""

    owner_secret: str = Field(description="secret of the owning role, shaped like database_secret")


def sandbox_environment() -> dict[str, str]:
    """For a process that is not to be trusted: where its interpreter's libraries are, and nothing else of ours."""
    return {name: value for name in _SANDBOX_VARIABLES if (value := os.environ.get(name))}  # noqa: TID251 - read here only


def load_settings[S: Settings](settings: type[S]) -> S:
    """Read the environment into `settings`; Misconfigured names every variable that is missing or wrong."""
    try:
        return settings()
    except ValidationError as error:
        names = ", ".join(sorted(str(problem["loc"][0]).upper() for problem in error.errors()))
        raise Misconfigured(f"set these environment variables (see the template): {names}") from None
