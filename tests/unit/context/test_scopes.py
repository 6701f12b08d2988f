"""What a conversation is about decides what its briefing must hold and must not."""

import pytest

from parlour.context import scope
from parlour.context.scope import BriefingScope
from parlour.context.segment import Item, SourceKind
from tests.unit.context.making import make_item


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
    scope.check_scope(name, of(*lots))


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
def test_what_lacks_or_does_not_belong_is_a_mistake_of_ours(name: BriefingScope, lots: tuple[SourceKind, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        scope.check_scope(name, of(*lots))


def test_every_scope_says_both() -> None:
    assert scope.REQUIRED_KINDS.keys() == scope.FORBIDDEN_KINDS.keys()
    assert not any(scope.REQUIRED_KINDS[name] & scope.FORBIDDEN_KINDS[name] for name in scope.REQUIRED_KINDS)


@pytest.mark.parametrize("name", scope.REQUIRED_KINDS)
def test_every_required_lot_is_asked_for_and_every_forbidden_one_refused(name: BriefingScope) -> None:
    required = scope.REQUIRED_KINDS[name]
    for lot in required:
        with pytest.raises(ValueError, match=f"needs {lot}"):
            scope.check_scope(name, of(*(required - {lot})))
    for lot in scope.FORBIDDEN_KINDS[name]:
        with pytest.raises(ValueError, match=f"must not hold {lot}"):
            scope.check_scope(name, of(*required, lot))
