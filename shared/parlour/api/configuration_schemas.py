"""The tenant, its pack and its agents as they go in and out as JSON, and what the console has to know to begin."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints

from parlour.api.schemas import PackPath, PackText, RequestModel, ResponseModel


class PackDecision(RequestModel):
    """What wins in one item: `keep` what people changed, or `take` what the pack says.

    item   its handle, such as `risk/R-03`, `document/rules.md` or `agent/helper`.
    field  one of its fields, such as `properties.state`; without it all fields.
    """

    item: Annotated[str, StringConstraints(min_length=1, max_length=700)]
    field: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = None
    choice: Literal["keep", "take"]


class PackFiles(RequestModel):
    """A pack: the text of each file by its path inside the folder, with `/` between folders.

    dry_run    say what would change, and write nothing.
    conflicts  what wins where the pack and people changed the same field.
    decisions  the same for single items and fields; `take` also replaces what only people changed.
    prune      delete what an earlier pack brought and this one does not have.
    """

    files: Annotated[dict[PackPath, PackText], Field(min_length=1, max_length=2_000)]
    dry_run: bool = False
    conflicts: Literal["keep", "take"] = "keep"
    decisions: Annotated[list[PackDecision], Field(max_length=10_000)] = Field(default_factory=list)
    prune: bool = False


class PackUndo(RequestModel):
    """dry_run: say what would be restored, and write nothing."""

    dry_run: bool = False


class PackPrune(RequestModel):
    """dry_run: say what would be deleted, and write nothing."""

    dry_run: bool = False


class StatusChange(RequestModel):
    """active: answered; paused: a polite line; archived: closed, by the operator only."""

    status: Literal["active", "paused", "archived"]


class BindingView(ResponseModel):
    """A binding as the tenant's own people see it; `channels` are names only.

    is_open_to_caller  whether the caller can talk to it on the web: an open door, or a private one of theirs.
    """

    id: UUID
    slug: str
    display_name: str
    door: str
    is_open_to_caller: bool = False
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
    deleted  no longer in the pack, pruned.
    """

    created: int
    changed: int
    unchanged: int
    kept: int
    retired: int
    deleted: int


class PackChangeView(ResponseModel):
    """What happens to one item; `fields` are those that change."""

    item: str
    action: Literal["created", "changed", "deleted", "switched_off"]
    fields: list[str]


class PackDifferenceView(ResponseModel):
    """A value that people changed: theirs and the pack's.

    field     None: the whole item, which people deleted.
    withheld  the current value is above the caller's clearance.
    taken     the pack's value is taken.
    """

    item: str
    field: str | None
    pack_value: JsonValue
    current_value: JsonValue
    withheld: bool
    taken: bool


class PackReasonView(ResponseModel):
    """An item, or one of its fields, that stays as it is, and why."""

    item: str
    field: str | None = None
    reason: str


class PackApplyView(ResponseModel):
    """An apply of a pack that changed something and can be undone."""

    applied_by: str
    applied_at: datetime
    changed_items: int


class PackEditView(ResponseModel):
    """What people changed in an item of the pack; without `fields` they deleted it."""

    item: str
    fields: list[str]


class PackStatusView(ResponseModel):
    """What packs brought to the tenant. Lists have their first 1,000 entries.

    applies     those that can be undone, newest first.
    item_count  items of the last applied pack.
    edits       what people changed since; the next apply keeps it.
    deletable   items that left the pack and that a prune deletes.
    not_deletable  items that left the pack and that a prune keeps, and why.
    """

    applies: list[PackApplyView]
    item_count: int
    edits: list[PackEditView]
    deletable: list[str]
    not_deletable: list[PackReasonView]


class PackPrunedView(ResponseModel):
    """What a prune deleted or, in a dry run, would delete; what stays, and why."""

    dry_run: bool
    deleted: list[str]
    not_deleted: list[PackReasonView]


class PackAppliedView(ResponseModel):
    """What applying a pack did or, in a dry run, would do. Lists have their first 1,000 entries.

    changed      whether anything was written; in a dry run, whether anything would be.
    counts       by kind: tenant, tiers, tools, types, records, links and documents.
    changes      each item that changes.
    edits        values that only people changed: they stay.
    conflicts    values that the pack and people changed.
    not_in_pack  handles of what an earlier pack brought and this one does not have: it stays.
    not_deleted  those that a prune refuses to delete.
    warnings     what is valid and probably not what was meant: file, line and field, and what to do.
    waiting_routes  hosts and numbers that lead nowhere until the operator accepts them.
    """

    tenant: str
    dry_run: bool
    changed: bool
    counts: dict[str, ApplyCountsView]
    changes: list[PackChangeView]
    edits: list[PackDifferenceView]
    conflicts: list[PackDifferenceView]
    not_in_pack: list[str]
    not_deleted: list[PackReasonView]
    warnings: list[str]
    waiting_routes: list[str]


class RouteView(ResponseModel):
    """A host or number of the tenant, as a routing key like `web:chat.example.com`; binding: whom it leads to."""

    key: str
    binding: str
    state: Literal["active", "waiting"]


class RouteListView(ResponseModel):
    """The hosts and numbers of a tenant; first those that wait for the operator and lead nowhere until then."""

    routes: list[RouteView]


class RouteAcceptance(RequestModel):
    """A claim to accept. end_reservation: also where another tenant gave the key up within 30 days."""

    key: str = Field(max_length=300)
    end_reservation: bool = False


class PackUndoneView(ResponseModel):
    """The apply that was undone, or in a dry run would be, and what stays because it was changed since."""

    dry_run: bool
    applied_at: datetime
    applied_by: str
    restored: list[PackChangeView]
    not_restored: list[PackReasonView]


class BindingListView(ResponseModel):
    """The active agents."""

    bindings: list[BindingView]


class ConsoleAgentView(ResponseModel):
    """An agent that visitors can talk to; `samples` are questions to begin with.

    face    an emoji or letters beside the name; empty: the product's mark.
    colour  of buttons, as #rrggbb; empty: the product's.
    """

    tenant: str
    slug: str
    name: str
    greeting: str
    channels: list[str]
    samples: list[str]
    face: str
    colour: str


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
    model    who answers on a laptop: a real model or the offline model; null in the cloud.
    demo_tenants  tenants whose agents play the scenes of their pack before the offline model answers.
    is_agent_host  whether this host belongs to one agent, the only one of `bindings`.
    """

    environment: str
    local: bool
    model: Literal["live", "offline"] | None
    demo_tenants: list[str]
    stream: bool
    sign_in: list[SignInView]
    attachments: AttachmentRulesView
    bindings: list[ConsoleAgentView]
    is_agent_host: bool


class HealthView(ResponseModel):
    """That the API answers."""

    status: Literal["ok"] = "ok"


class SecretView(ResponseModel):
    """A secret that the tenant's pack names; its value is never shown.

    reference  its name in the secret store.
    used_by    bindings and tools that need it, as `binding site-desk` and `tool raise_rfi`.
    status     unreadable: it has no current value, it is being deleted, or access to it is refused; unknown: the secret
               store does not answer.
    """

    name: str
    reference: str
    used_by: list[str]
    status: Literal["stored", "missing", "unreadable", "unknown"]


class SecretListView(ResponseModel):
    """The secrets of the tenant, by name."""

    secrets: list[SecretView]
