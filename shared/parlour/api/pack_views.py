"""The results of applying and undoing a pack as JSON."""

from collections.abc import Iterable

from parlour.api.configuration_schemas import (
    ApplyCountsView,
    PackAppliedView,
    PackApplyView,
    PackChangeView,
    PackDifferenceView,
    PackEditView,
    PackPrunedView,
    PackReasonView,
    PackStatusView,
    PackUndoneView,
)
from parlour.infra.json_values import Json
from parlour.packs.apply import ApplyResult
from parlour.packs.merge import Difference, ItemChange, Merge
from parlour.packs.status import PackStatus
from parlour.packs.undo import UndoResult

_MAX_ITEMS = 1_000
"""Entries of each list; all of them are counted."""

_MAX_CHARS = 500
"""Of a text among the values; a longer one is cut."""


def applied_view(done: ApplyResult, *, dry_run: bool) -> PackAppliedView:
    """Return what an apply did."""
    merged = done.merge
    return PackAppliedView(
        tenant=done.tenant_slug,
        dry_run=dry_run,
        changed=done.has_changes,
        counts={kind: ApplyCountsView.model_validate(counts) for kind, counts in done.counts.items()},
        changes=_changes(merged.changes),
        edits=_differences(merged.local_edits),
        conflicts=_differences(merged.conflicts),
        not_in_pack=done.not_in_pack[:_MAX_ITEMS],
        not_deleted=_reasons(merged),
        warnings=[str(warning) for warning in done.warnings[:_MAX_ITEMS]],
        waiting_routes=list(done.waiting_routes),
    )


def undone_view(done: UndoResult, *, dry_run: bool) -> PackUndoneView:
    """Return what an undo did, without items above the caller's clearance."""
    undo = done.undo
    stays = [one for one in undo.not_restored if one.item not in undo.hidden]
    return PackUndoneView(
        dry_run=dry_run,
        applied_at=done.applied.applied_at,
        applied_by=done.applied.applied_by,
        restored=_changes(one for one in undo.restored if one.item not in undo.hidden),
        not_restored=[
            PackReasonView(item=one.item.handle, field=one.field, reason=one.reason) for one in stays[:_MAX_ITEMS]
        ],
    )


def status_view(found: PackStatus) -> PackStatusView:
    """Return the state of a tenant's pack."""
    stays = [PackReasonView(item=item.handle, reason=reason) for item, reason in found.left_pack if reason]
    return PackStatusView(
        applies=[PackApplyView.model_validate(one) for one in found.applies],
        item_count=found.item_count,
        edits=[PackEditView(item=one.item.handle, fields=[*one.fields]) for one in found.edits[:_MAX_ITEMS]],
        deletable=[item.handle for item, reason in found.left_pack if not reason][:_MAX_ITEMS],
        not_deletable=stays[:_MAX_ITEMS],
    )


def pruned_view(done: Merge, *, dry_run: bool) -> PackPrunedView:
    """Return what a prune did."""
    return PackPrunedView(
        dry_run=dry_run,
        deleted=[change.item.handle for change in done.changes][:_MAX_ITEMS],
        not_deleted=_reasons(done),
    )


def _reasons(merged: Merge) -> list[PackReasonView]:
    found = [PackReasonView(item=item.handle, reason=reason) for item, reason in merged.not_deleted.items()]
    return found[:_MAX_ITEMS]


def _changes(changes: Iterable[ItemChange]) -> list[PackChangeView]:
    found = [PackChangeView(item=one.item.handle, action=one.action, fields=[*one.fields]) for one in changes]
    return found[:_MAX_ITEMS]


def _differences(differences: Iterable[Difference]) -> list[PackDifferenceView]:
    found = [
        PackDifferenceView(
            item=one.item.handle,
            field=one.field,
            pack_value=_shorten(one.pack_value),
            current_value=_shorten(one.current_value),
            withheld=one.is_withheld,
            taken=one.is_taken,
        )
        for one in differences
    ]
    return found[:_MAX_ITEMS]


def _shorten(value: Json) -> Json:
    return f"{value[:_MAX_CHARS]}…" if isinstance(value, str) and len(value) > _MAX_CHARS else value
