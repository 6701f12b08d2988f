"""What a conversation is about decides what its briefing must hold and must not."""

import pytest

from parlour.context import scope
from parlour.context.scope import Scope
from parlour.context.segment import Item, Lot
from tests.unit.context.making import item


def of(*lots: Lot) -> list[Item]:
    return [item(lot, "words") for lot in lots]


@pytest.mark.parametrize(
    ("name", "lots"),
    [
        ("global", ()),
        ("global", (Lot.PROJECTS,)),
        ("project", (Lot.RECORD, Lot.TREE, Lot.PROJECT_FILES, Lot.RECENT)),
        ("entity", (Lot.PULSE, Lot.RECORD, Lot.LINKED, Lot.NEAREST)),
    ],
)
def test_what_belongs_is_taken(name: Scope, lots: tuple[Lot, ...]) -> None:
    scope.check(name, of(*lots))


@pytest.mark.parametrize(
    ("name", "lots", "said"),
    [
        ("project", (Lot.RECORD,), "scope project needs tree"),
        ("entity", (Lot.LINKED,), "scope entity needs record"),
        ("global", (Lot.LINKED, Lot.PROJECTS), "scope global must not hold linked"),
        ("global", (Lot.RECORD,), "scope global must not hold record"),
        ("project", (Lot.RECORD, Lot.TREE, Lot.PROJECTS), "scope project must not hold projects"),
        ("entity", (Lot.RECORD, Lot.PROJECTS), "scope entity must not hold projects"),
    ],
)
def test_what_lacks_or_does_not_belong_is_a_mistake_of_ours(name: Scope, lots: tuple[Lot, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        scope.check(name, of(*lots))


def test_every_scope_says_both() -> None:
    assert scope.REQUIRED.keys() == scope.FORBIDDEN.keys()
    assert not any(scope.REQUIRED[name] & scope.FORBIDDEN[name] for name in scope.REQUIRED)


@pytest.mark.parametrize("name", scope.REQUIRED)
def test_every_required_lot_is_asked_for_and_every_forbidden_one_refused(name: Scope) -> None:
    required = scope.REQUIRED[name]
    for lot in required:
        with pytest.raises(ValueError, match=f"needs {lot}"):
            scope.check(name, of(*(required - {lot})))
    for lot in scope.FORBIDDEN[name]:
        with pytest.raises(ValueError, match=f"must not hold {lot}"):
            scope.check(name, of(*required, lot))
