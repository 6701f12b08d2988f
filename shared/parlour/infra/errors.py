"""Every error Parlour raises on purpose, classed by who has to act.

    ParlourError
    ├── RetryError                    nobody: the queue delivers again
    │   ├── DatabaseUnavailable
    │   │   └── StatementTooSlow      not the database's absence: what was asked of it
    │   ├── SchemaOutdated            the release is newer than the schema: its migrations are missing
    │   ├── QueueUnavailable
    │   ├── ObjectsUnavailable
    │   ├── SecretUnavailable
    │   ├── ProviderUnavailable       a model or channel provider timed out, was busy or cut the line
    │   ├── AccessRefused             a provider refuses the tenant's key, or S3 us: the work waits until it is mended
    │   ├── LeaseHeld                 another worker is at it: a turn, a reply or a long tool call
    │   └── AnswersLater              a tool took the call and will call back
    ├── ModelError                    the model: told as {ok: false, code, retryable} and may try again
    │   ├── UnknownTool
    │   ├── ToolNotAvailable          it exists, but nothing of its kind can run here
    │   ├── InvalidArguments
    │   ├── ToolRefused               the tool's endpoint said no; it surely did nothing
    │   ├── HandoffNotAllowed         the desk is not one of the agent's, or not open to the user
    │   ├── HandoffRepeated           a circle: too often, or without a message of the user in between
    │   ├── ToolFailed
    │   ├── ToolCancelled             somebody stopped it before it was done
    │   ├── ToolTimedOut              it took longer than it may; it changes nothing, so nothing is in doubt
    │   └── OutcomeUnknown            nobody knows whether it was done; a person will find out
    │       └── StillUnderWay         nobody waits for it any more, and it may yet be done
    ├── CallerError                   whoever called: a 4xx
    │   ├── InvalidRequest            422
    │   ├── MalformedPayload          400
    │   ├── Unauthenticated           401
    │   ├── Forbidden                 403
    │   ├── NotFound                  404
    │   ├── MethodNotAllowed          405
    │   ├── Conflict                  409
    │   ├── PayloadTooLarge           413
    │   ├── UnreadableFile            422, with the reason by name
    │   └── InvalidPack               422, with file, line and field of every problem
    ├── TurnStopped                   nobody: somebody stopped the turn, and what it has so far is its reply
    └── OperatorError                 the people who run it
        ├── Misconfigured
        │   ├── MissingSecret
        │   └── KeyRefused            a provider refuses a key of the tenant
        ├── MigrationConflict
        │   └── DatabaseTooOld        made by a release before this one's first migration
        ├── MigrationBlocked          a table that a migration changes stays locked
        ├── LeaseLost                 a newer worker took the session over: write nothing more
        ├── ProviderRejected          a provider refused the request itself; trying again cannot help
        │   └── WindowClosed          the user wrote too long ago for a channel to take free text
        ├── DeliveryUnknown           a provider may or may not have taken a message; sending again might double it
        ├── PromptOverflow            layers that may not be dropped exceed the budget
        └── SpendRefused              the tenant's daily cap is reached, or its model calls are switched off
            ├── SpendStopped          an operator has switched the tenant's model calls off
            └── AnonymousShareSpent   visitors whom no channel has verified have spent their part of the cap

The docstring of a class is its default message; a message given instead must say what to do next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class ParlourError(Exception):
    """Something Parlour knows about went wrong."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class RetryError(ParlourError):
    """This will be tried again; nothing was lost."""

    code = "retry"
    retryable = True

    def __init__(self, message: str | None = None, *, retry_after: int | None = None) -> None:
        """`after`: seconds until trying again makes sense; None leaves it to the queue's back-off."""
        super().__init__(message)
        self.retry_after = retry_after


class DatabaseUnavailable(RetryError):
    """The database did not answer; the work will be tried again."""

    code = "database_unavailable"


class SchemaOutdated(RetryError):
    """The database's schema is older than this release: run the migrations. Until then the work is tried again."""

    code = "schema_outdated"


class StatementTooSlow(DatabaseUnavailable):
    """A statement took longer than it may; the work will be tried again, but not for ever."""

    code = "statement_too_slow"


class TooManyFollowers(RetryError):
    """Too many streams are open here; try again, or poll the events of the session. Nothing of them is lost."""

    code = "too_many_followers"


class QueueUnavailable(RetryError):
    """The queue did not accept the message; the work will be tried again."""

    code = "queue_unavailable"


class ObjectsUnavailable(RetryError):
    """The object store did not take it; the work will be tried again."""

    code = "objects_unavailable"


class FunctionUnavailable(RetryError):
    """Another function of the deployment did not answer; the work will be tried again."""

    code = "function_unavailable"


class SecretUnavailable(RetryError):
    """The secret store did not answer; the work will be tried again."""

    code = "secret_unavailable"


class ProviderUnavailable(RetryError):
    """The provider timed out, was busy or broke off; the call may be tried again."""

    code = "provider_unavailable"


class AccessRefused(RetryError):
    """The provider refuses this tenant's key: renew it in the secret store. Until then the work waits."""

    code = "access_refused"


class LeaseHeld(RetryError):
    """Another worker is at this; the wake-up will come again."""

    code = "lease_held"


class AnswersLater(RetryError):
    """The tool took the call and will call back with the result."""

    code = "answers_later"


class ModelError(ParlourError):
    """The model asked for something that cannot be done as asked."""

    code = "tool_error"

    def __init__(self, message: str | None = None, *, detail: str = "") -> None:
        """`detail`: what helps the developer of a tool, such as a status; no model and no log gets it."""
        super().__init__(message)
        self.detail = detail


class UnknownTool(ModelError):
    """There is no tool of that name; use one of those listed."""

    code = "unknown_tool"


class ToolNotAvailable(ModelError):
    """This tool cannot be used here; answer without it."""

    code = "not_available"


class InvalidArguments(ModelError):
    """The arguments do not fit the tool's schema; correct them and call again."""

    code = "invalid_arguments"


class ToolRefused(ModelError):
    """The tool refused; nothing was done. Correct the request or answer without it."""

    code = "refused"


class RequestRejected(ToolRefused):
    """The tool's system rejected the request; nothing was done. Correct the request or answer without it."""

    code = "rejected"


class HandoffNotAllowed(ModelError):
    """This conversation may not be handed to that desk; answer without it."""

    code = "handoff_not_allowed"


class HandoffRepeated(ModelError):
    """This conversation was handed over just now, or too often; answer in it."""

    code = "handoff_repeated"


class OutcomeUnknown(ModelError):
    """It is not known whether this was done. A person will find out: do not ask for it again, and tell the user so."""

    code = "outcome_unknown"


class StillUnderWay(OutcomeUnknown):
    """It took too long and may still be done. A person will find out: do not ask for it again, and tell the user so."""


class ToolCancelled(ModelError):
    """Somebody stopped this before it was done; do not ask for it again unless the user does."""

    code = "cancelled"


class ApprovalRefused(ModelError):
    """The person who was asked refused; nothing was done. Tell the user, and do not try again without being asked."""

    code = "approval_refused"


class ApprovalExpired(ModelError):
    """Nobody agreed in time; nothing was done. Tell the user that they can ask for it again."""

    code = "expired"


class ApprovalChanged(ModelError):
    """What was asked about changed in the meantime; nothing was done."""

    code = "changed"


class ToolTimedOut(ModelError):
    """The tool took too long and was given up; it may work when tried again."""

    code = "timed_out"
    retryable = True


class ToolFailed(ModelError):
    """The tool failed; it may work when tried again."""

    code = "tool_failed"
    retryable = True


class CallerError(ParlourError):
    """The request is invalid."""

    code = "bad_request"
    status: ClassVar[int] = 400

    def __init__(self, message: str | None = None, *, reason: str = "") -> None:
        """`reason`: a constant that says for the log what was wrong; whoever has to sign in never hears it."""
        super().__init__(message)
        self.reason = reason


class MalformedPayload(CallerError):
    """The body has the wrong format; see the documentation of this endpoint."""

    code = "malformed_payload"
    status = 400


class Unauthenticated(CallerError):
    """The credentials are missing, expired or wrong; sign in and send a fresh token."""

    code = "unauthenticated"
    status = 401


class Forbidden(CallerError):
    """These credentials do not allow this; ask an administrator of the tenant for the role."""

    code = "forbidden"
    status = 403


class NotFound(CallerError):
    """Not found."""

    code = "not_found"
    status = 404


class MethodNotAllowed(CallerError):
    """This endpoint does not support that method; see its documentation."""

    code = "method_not_allowed"
    status = 405


class Conflict(CallerError):
    """Someone else changed this; read it again and repeat the change."""

    code = "conflict"
    status = 409


class RateLimited(CallerError):
    """Too many requests; `retry_after` says in how many seconds there is room again."""

    code = "rate_limited"
    status = 429

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests; try again in {retry_after} seconds")
        self.retry_after = retry_after


class NotAcceptable(CallerError):
    """The request asks for a form of answer that cannot be given here."""

    code = "not_acceptable"
    status = 406


class PayloadTooLarge(CallerError):
    """The body is larger than this endpoint accepts."""

    code = "payload_too_large"
    status = 413


class UnreadableFile(CallerError):
    """The file cannot be read."""

    code = "unreadable_file"
    status = 422


class InvalidRequest(CallerError):
    """A field of the request is missing or wrong."""

    code = "invalid_request"
    status = 422


@dataclass(frozen=True, slots=True)
class PackProblem:
    """One thing wrong with a pack: where it is, and how to put it right."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = "the pack" if self.file == "-" else f"{self.file}:{self.line}"
        return f"{place}: {self.message}" if self.field == "-" else f"{place}: {self.field}: {self.message}"


class InvalidPack(CallerError):
    """The pack has problems; none of it was applied."""

    code = "invalid_pack"
    status = 422

    def __init__(self, problems: Sequence[PackProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class TurnStopped(ParlourError):
    """Somebody stopped the turn; what it has so far is its reply."""

    code = "stopped"


class OperatorError(ParlourError):
    """Somebody who runs this deployment has to look."""

    code = "operator"


class Misconfigured(OperatorError):
    """A setting is missing or wrong."""

    code = "misconfigured"


class MissingSecret(Misconfigured):
    """A secret is missing, or this function may not read it: store it with `parlour secrets set`."""

    code = "missing_secret"


class KeyRefused(Misconfigured):
    """A provider refuses the key; store the right one with `parlour secrets set`."""

    code = "key_refused"


class MigrationConflict(OperatorError):
    """A migration that was already applied has changed; restore it and add a new one."""

    code = "migration_conflict"


class DatabaseTooOld(MigrationConflict):
    """This database was made by an older release, which this one cannot migrate; deploy to a new database."""

    code = "database_too_old"


class MigrationBlocked(OperatorError):
    """A migration could not lock a table for minutes; end the transaction that holds it and deploy again."""

    code = "migration_blocked"


class LeaseLost(OperatorError):
    """A newer worker took this session over; this one must write nothing more."""

    code = "lease_lost"


class ProviderRejected(OperatorError):
    """The provider refused the request; look at the binding's configuration."""

    code = "provider_rejected"


class WindowClosed(ProviderRejected):
    """The user wrote too long ago for free text; give the binding a template, or reach them another way."""

    code = "window_closed"


class DeliveryUnknown(OperatorError):
    """The provider did not say whether it took the message; look in its console before sending again."""

    code = "delivery_unknown"


class PromptOverflow(OperatorError):
    """The layers that may not be dropped exceed the budget; shorten the named layer or raise the budget."""

    code = "prompt_overflow"

    def __init__(self, layer: str, tokens: int, budget: int) -> None:
        super().__init__(f"layer {layer} takes {tokens} tokens; {budget} are left: shorten it or raise the budget")
        self.layer, self.tokens, self.budget = layer, tokens, budget


class SpendRefused(OperatorError):
    """Model calls are over for today: raise the tenant's daily cap, or switch its model calls on again."""

    code = "spend_cap"


class SpendStopped(SpendRefused):
    """Model calls are switched off for this tenant; switch them on again."""


class AnonymousShareSpent(SpendRefused):
    """Visitors whom no channel has verified have spent their part of the daily cap; others go on."""

    code = "anonymous_share"
