"""What a conversation is about decides what its briefing must hold and must not."""

import pytest

from parlour.prompts.assembly import briefing_scope
from parlour.prompts.assembly.briefing_scope import BriefingScope
from parlour.prompts.assembly.segment import Item, SourceKind
from tests.unit.prompts.prompt_builders import make_item


def of(*lots: SourceKind) -> list[Item]:
    return [make_item(lot, "words") for lot in lots]


@pytest.mark.parametrize(
    ("name", "lots"),
    [
        ("global", ()),
        ("global", (SourceKind.PROJECTS,)),
        ("project", (SourceKind.RECORD, SourceKind.TREE, SourceKind.PROJECT_FILES, SourceKind.RECENT)),
        ("entity", (SourceKind.PULSE, SourceKind.RECORD, SourceKind.LINKED, SourceKind.NEAREST)),
    ],
)
def test_what_belongs_is_taken(name: BriefingScope, lots: tuple[SourceKind, ...]) -> None:
    briefing_scope.check_scope(name, of(*lots))


@pytest.mark.parametrize(
    ("name", "lots", "said"),
    [
        ("project", (SourceKind.RECORD,), "scope project needs tree"),
        ("entity", (SourceKind.LINKED,), "scope entity needs record"),
        ("global", (SourceKind.LINKED, SourceKind.PROJECTS), "scope global must not hold linked"),
        ("global", (SourceKind.RECORD,), "scope global must not hold record"),
        ("project", (SourceKind.RECORD, SourceKind.TREE, SourceKind.PROJECTS), "scope project must not hold projects"),
        ("entity", (SourceKind.RECORD, SourceKind.PROJECTS), "scope entity must not hold projects"),
    ],
)
def test_what_lacks_or_does_not_belong_is_a_mistake_of_ours(
    name: BriefingScope, lots: tuple[SourceKind, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        briefing_scope.check_scope(name, of(*lots))


def test_every_scope_says_both() -> None:
    assert briefing_scope.REQUIRED_KINDS.keys() == briefing_scope.FORBIDDEN_KINDS.keys()
    assert not any(
        briefing_scope.REQUIRED_KINDS[name] & briefing_scope.FORBIDDEN_KINDS[name]
        for name in briefing_scope.REQUIRED_KINDS
    )


@pytest.mark.parametrize("name", briefing_scope.REQUIRED_KINDS)
def test_every_required_lot_is_asked_for_and_every_forbidden_one_refused(name: BriefingScope) -> None:
    required = briefing_scope.REQUIRED_KINDS[name]
    for lot in required:
        with pytest.raises(ValueError, match=f"needs {lot}"):
            briefing_scope.check_scope(name, of(*(required - {lot})))
    for lot in briefing_scope.FORBIDDEN_KINDS[name]:
        with pytest.raises(ValueError, match=f"must not hold {lot}"):
            briefing_scope.check_scope(name, of(*required, lot))
