"""The body of every error, as the API's description has it; `error_responses` writes it."""

from pydantic import Field

from parlour.api.schemas import ResponseModel


class Problem(ResponseModel):
    """One thing that is wrong: with a field of the request, or with a line of a pack's file."""

    field: str
    message: str
    file: str = ""
    line: int = 0


class ErrorDetail(ResponseModel):
    """What happened and what to do. `code` is stable; `problems` is there when fields or lines are wrong."""

    code: str
    message: str
    problems: list[Problem] = Field(default_factory=list)


class ErrorBody(ResponseModel):
    """The body of every answer with a status from 400 on."""

    error: ErrorDetail
