"""The tenant, its pack and its agents as they go in and out as JSON, and what the console has to know to begin."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from parlour.api.schemas import PackPath, PackText, RequestModel, ResponseModel


class PackFiles(RequestModel):
    """A pack: the text of each file by its path inside the folder, with `/` between folders."""

    files: Annotated[dict[PackPath, PackText], Field(min_length=1, max_length=2_000)]


class StatusChange(RequestModel):
    """active: answered; paused: a polite line; archived: closed, by the operator only."""

    status: Literal["active", "paused", "archived"]


class BindingView(ResponseModel):
    """A binding as the tenant's own people see it; `channels` are names only."""

    id: UUID
    slug: str
    display_name: str
    door: str
    channels: Annotated[list[str], BeforeValidator(sorted)]
    clearance: int
    greeting: str
    version: int


class TenantView(ResponseModel):
    """The tenant that the caller acts in."""

    slug: str
    display_name: str
    status: str


class PackView(ResponseModel):
    """A pack: the text of each file by its path inside the folder."""

    files: dict[str, str]


class ApplyCountsView(ResponseModel):
    """What became of the things of one kind: counts.

    kept     in no pack, left as it is.
    retired  agents that the pack does not name, switched off.
    """

    created: int
    changed: int
    unchanged: int
    kept: int
    retired: int


class PackAppliedView(ResponseModel):
    """What applying a pack did.

    changed      whether anything was written.
    counts       by kind: tenant, tiers, tools, types, records, links and documents.
    not_in_pack  handles of records and documents that an earlier pack brought: the first 100.
    """

    tenant: str
    changed: bool
    counts: dict[str, ApplyCountsView]
    not_in_pack: list[str]


class BindingListView(ResponseModel):
    """The active agents."""

    bindings: list[BindingView]


class ConsoleAgentView(ResponseModel):
    """An agent that visitors can talk to; `samples` are questions to begin with."""

    tenant: str
    slug: str
    name: str
    greeting: str
    channels: list[str]
    samples: list[str]


class SignInView(ResponseModel):
    """A way to sign in: an OIDC issuer, the console's client id there (public, PKCE), and what a button says."""

    issuer: str
    client_id: str
    name: str


class AttachmentTypeView(ResponseModel):
    """A kind of file that a message may come with."""

    kind: Literal["image", "text"]
    name: str
    media_type: str
    extensions: list[str]


class AttachmentRulesView(ResponseModel):
    """What a message may come with, so that a page refuses a file before its upload.

    refusal          why any other file is refused, to follow its name.
    max_count        attachments of one message.
    max_bytes        of any attachment; `max_image_bytes` of an image, `max_text_chars` characters of a text.
    """

    types: list[AttachmentTypeView]
    refusal: str
    max_count: int
    max_bytes: int
    max_image_bytes: int
    max_text_chars: int


class ConsoleSettingsView(ResponseModel):
    """What the console has to know before anybody signs in.

    local    whether this is a laptop, with a phone and a member's token beside the API.
    stream   whether replies can be followed as a stream; else their events are polled.
    sign_in  how members sign in; none: with an API key only.
    model    who answers on a laptop: a real model, the offline model or the demo's script; null in the cloud.
    """

    environment: str
    local: bool
    model: Literal["live", "offline", "demo"] | None
    stream: bool
    sign_in: list[SignInView]
    attachments: AttachmentRulesView
    bindings: list[ConsoleAgentView]


class HealthView(ResponseModel):
    """That the API answers."""

    status: Literal["ok"] = "ok"
