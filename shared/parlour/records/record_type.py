"""What a kind of record says about its records: their properties, and what Parlour makes of them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from parlour.infra.json_values import Json, JsonObject
from parlour.principal import LEVEL_NAMES
from parlour.records.property_text import PROPERTY_ORDER, order_properties, unit_of
from parlour.records.snapshots import SnapshotTemplate
from parlour.tenancy.rows import SessionVisibility

DEFAULT_LINK = "/console/#/records/{{type}}/{{key}}"
DEFAULT_COALESCE_SECONDS = 30
"""How long changes are gathered before a Pulse is written anew, where a kind says nothing else."""


@dataclass(frozen=True, slots=True)
class RecordTypeSettings:
    """The `rag` settings of a type, with the defaults of those that are missing.

    is_searchable           whether its records have searchable rows.
    is_stale_with_children  whether a change of a child makes the record's Pulse stale too.
    has_pulses              whether its records have Pulses.
    coalesce_seconds        how long changes are gathered before a Pulse is written again, 10 to 120.
    chat_agent              the agent of conversations about its records in the console; "" for any.
    chat_visibility         who else reads a conversation about one of them, see `SessionVisibility`.
    tracked_properties      the properties whose changes make a Pulse stale; empty: all of them.
    status_properties       the properties whose values are counted for a Pulse.
    classification          the default of a new record.
    budget                  of prompts about a record, where it differs from its agent's: {"tokens", "layers", ...}.
    """

    semantic: str = ""
    is_searchable: bool = True
    is_stale_with_children: bool = False
    has_pulses: bool = False
    pulse_model: str = ""
    pulse_prompt: str = ""
    coalesce_seconds: int = DEFAULT_COALESCE_SECONDS
    status_properties: tuple[str, ...] = ()
    tracked_properties: tuple[str, ...] = ()
    chat_visibility: SessionVisibility = "private"
    chat_agent: str = ""
    budget: JsonObject | None = None
    classification: int = 0
    icon: str = ""
    colour: str = ""
    link: str = DEFAULT_LINK

    @classmethod
    def parse(cls, rag: Mapping[str, Json]) -> "RecordTypeSettings":
        """As a type's row has them; what is not of the right kind counts as not said."""
        level = rag.get("classification")
        return cls(
            semantic=_text(rag, "semantic"),
            is_searchable=rag.get("context") != "off",
            is_stale_with_children=rag.get("children") == "auto",
            has_pulses=rag.get("pulse") == "auto",
            pulse_model=_text(rag, "pulse_model"),
            pulse_prompt=_text(rag, "pulse_prompt"),
            coalesce_seconds=_number(rag, "coalesce_seconds") or DEFAULT_COALESCE_SECONDS,
            status_properties=_property_names(rag, "status_properties"),
            tracked_properties=_property_names(rag, "tracked_properties"),
            chat_visibility=_visibility(rag),
            chat_agent=_text(rag, "chat_agent"),
            budget=_budget(rag),
            classification=LEVEL_NAMES.index(level) if isinstance(level, str) and level in LEVEL_NAMES else 0,
            icon=_text(rag, "icon"),
            colour=_text(rag, "colour"),
            link=_text(rag, "link") or DEFAULT_LINK,
        )


@dataclass(frozen=True, slots=True)
class RecordType:
    """A type of record of a tenant; `id` is None for a built-in type that is not stored yet.

    is_built_in  whether Parlour provisioned its row, not a pack.
    is_outdated  whether its row is of an older version of Parlour.
    """

    key: str
    display_name: str
    properties: JsonObject = field(default_factory=dict)
    rag: JsonObject = field(default_factory=dict)
    version: int = 1
    id: UUID | None = None
    is_built_in: bool = False
    is_outdated: bool = False

    @property
    def config(self) -> JsonObject:
        """What a pack would say of it."""
        return {"display_name": self.display_name, "properties": self.properties, "rag": self.rag}

    @property
    def settings(self) -> RecordTypeSettings:
        """What its `rag` block says."""
        return RecordTypeSettings.parse(self.rag)

    @property
    def snapshot_template(self) -> SnapshotTemplate:
        """What snapshots are made from."""
        return SnapshotTemplate(self.key, self.display_name, self.properties, self.rag)

    def link_to_record(self, key: str) -> str:
        """Where a record of this kind is looked at."""
        return self.settings.link.replace("{{type}}", self.key).replace("{{key}}", key)

    def ordered(self, values: JsonObject) -> JsonObject:
        """Return the values of a record in the order of this type's file, or of Parlour's own definition."""
        return order_properties({PROPERTY_ORDER: [*self.properties], **self.rag}, values)

    def label(self, name: str) -> str:
        """Return a property as readers call it."""
        known = self.properties.get(name)
        label = known.get("label") if isinstance(known, dict) else None
        return label if isinstance(label, str) and label else name.replace("_", " ")


def is_backfill_needed(before: JsonObject, after: JsonObject) -> bool:
    """Whether rows or Pulses of a kind's records have to be made again, after its configuration changed."""
    return _searchable_parts(before) != _searchable_parts(after)


def _searchable_parts(config: JsonObject) -> tuple[object, ...]:
    rag, properties = config.get("rag"), config.get("properties")
    settings = RecordTypeSettings.parse(rag if isinstance(rag, dict) else {})
    known = properties if isinstance(properties, dict) else {}
    labels = {name: (one.get("label"), unit_of(one)) for name, one in known.items() if isinstance(one, dict)}
    order = (rag if isinstance(rag, dict) else {}).get(PROPERTY_ORDER)
    told = settings.pulse_prompt, settings.pulse_model, settings.status_properties
    pulse = told if settings.has_pulses else None
    return config.get("display_name"), labels, order, settings.semantic, settings.is_searchable, pulse


def _text(rag: Mapping[str, Json], name: str) -> str:
    value = rag.get(name)
    return value if isinstance(value, str) else ""


def _visibility(rag: Mapping[str, Json]) -> SessionVisibility:
    """Return who may read; a missing or unknown value is private."""
    said = _text(rag, "chat_visibility")
    return "shared" if said == "shared" else "role_gated" if said == "role_gated" else "private"


def _number(rag: Mapping[str, Json], name: str) -> int | None:
    value = rag.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _budget(rag: Mapping[str, Json]) -> JsonObject | None:
    """Return the budget; a mere number is a total, as types have it that were applied by an earlier release."""
    value = rag.get("budget")
    return value if isinstance(value, dict) else {"tokens": tokens} if (tokens := _number(rag, "budget")) else None


def _property_names(rag: Mapping[str, Json], name: str) -> tuple[str, ...]:
    value = rag.get(name)
    found: Sequence[Json] = value if isinstance(value, list) else ()
    return tuple(one for one in found if isinstance(one, str))
