"""The prompts of a turn, for whoever asks what was in them: explained, compared, and made again."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Viewer
from parlour.api.prompt_schemas import PromptDiffView, PromptExplanationView, PromptTextsView, RebuiltPromptView
from parlour.prompts.ledger import explanation, prompt_diff, rebuilt_prompt

_MAX_BUDGET = 1_000_000

router = APIRouter(prefix="/v1/turns/{turn_id}/prompt", tags=["turns"])
Step = Annotated[int | None, Query(ge=1, le=1_000)]


@router.get("")
def explain_prompt(turn_id: UUID, caller: Viewer, step: Step = None) -> PromptExplanationView:
    """Where the tokens of a turn's prompts went, by layer, and every candidate with the reason why it is out."""
    with caller.transaction() as tx:
        found = explanation.explain_turn(caller.principal, tx, turn_id, step)
    return PromptExplanationView.model_validate(found)


@router.get("/texts")
def get_prompt_texts(
    turn_id: UUID, caller: Viewer, hashes: Annotated[list[str], Query(alias="hash", max_length=explanation.MAX_TEXTS)]
) -> PromptTextsView:
    """Texts of the turn's prompts by their hashes; null for one that was forgotten."""
    with caller.transaction() as tx:
        return PromptTextsView(texts=explanation.read_texts(caller.principal, tx, turn_id, hashes))


@router.get("/diff")
def compare_prompts(
    turn_id: UUID,
    caller: Viewer,
    before: Annotated[UUID, Query(alias="with")],
    step: Step = None,
    with_step: Step = None,
) -> PromptDiffView:
    """Compare with a prompt of another turn, or of another step of this one."""
    with caller.transaction() as tx:
        found = prompt_diff.compare_turn_prompts(caller.principal, tx, turn_id, before, step, with_step)
    return PromptDiffView.model_validate(found)


@router.get("/rebuilt")
def rebuild_prompt(
    turn_id: UUID, caller: Viewer, step: Step = None, budget: Annotated[int | None, Query(ge=1, le=_MAX_BUDGET)] = None
) -> RebuiltPromptView:
    """Rebuild a prompt byte for byte; with a budget, from the same candidates under another total."""
    with caller.transaction() as tx:
        found = rebuilt_prompt.rebuild_turn_prompt(caller.principal, tx, turn_id, step, budget)
    return RebuiltPromptView.model_validate(found)
