"""A site desk whose tool asks a person first, and the dispatcher that runs what was agreed to."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from parlour.approvals import approvals
from parlour.approvals.approvals import Answer
from parlour.approvals.rows import Approval
from parlour.bootstrap.sweep import SweepQueues, finders
from parlour.conversations import approval_answers
from parlour.conversations.approval_answers import GivenAnswer
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.jobs.sweep import SweepDependencies, sweep
from parlour.principal import Principal
from parlour.tenancy.users import load_access
from parlour.tools.dispatch import DispatchDependencies, dispatch_call
from parlour.tools.rows import EndedCall
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer, tool_call

QUESTION = "Page the foreman: clear the north side."


@dataclass
class ApprovalHarness:
    """A desk with the tool `page`, which asks first, and what its answers and its dispatcher are run with.

    problems  what the next runs of the tool raise.
    """

    conversation: ConversationHarness
    runs: list[JsonObject] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)

    def add_tool(self, policy: str = "always", approver: str = "user", *, editable: bool = False) -> None:
        self.conversation.add_tool("page", self.run_tool)
        self.conversation.query(
            f"UPDATE tools SET needs_approval = '\"{policy}\"', approver = '{approver}', editable = {editable} "
            "WHERE name = 'page' RETURNING id"
        )

    def run_tool(self, context: ToolContext, arguments: JsonObject) -> JsonObject:
        self.runs.append(arguments)
        if self.problems:
            raise self.problems.pop()
        return {"paged": True}

    def ask_whatsapp(self, provider_id: str = "m1", **arguments: Json) -> Approval:
        """The user asks for a page; the turn ends with the question."""
        self.conversation.send_whatsapp(QUESTION, provider_id)
        return self._run_asking_turn(arguments)

    def ask_web(self, visitor: Principal, **arguments: Json) -> Approval:
        self.conversation.send_web(visitor, self.conversation.find_session(visitor), QUESTION)
        return self._run_asking_turn(arguments)

    def _run_asking_turn(self, arguments: dict[str, Json]) -> Approval:
        self.conversation.model.script = [tool_call("page", **(arguments or {"message": "clear the north side"}))]
        self.conversation.run_turn()
        return self.latest()

    def latest(self) -> Approval:
        with self.conversation.database.transaction(self.conversation.admin) as tx:
            page = approvals.list_approvals(self.conversation.admin, tx, only_open=False, limit=1)
        return page.rows[0]

    def get(self, approval: Approval) -> Approval:
        with self.conversation.database.transaction(self.conversation.admin) as tx:
            return approvals.get_approval(self.conversation.admin, tx, approval.id)

    def user_of(self, approval: Approval) -> Principal:
        with self.conversation.database.transaction(self.conversation.tenant_id) as tx:
            return load_access(tx, approval.user_id, approval.binding_id).principal

    def answer(
        self, principal: Principal, approval: Approval, given: Answer, database: Database | None = None
    ) -> GivenAnswer:
        with (database or self.conversation.database).transaction(principal) as tx:
            return approval_answers.answer_approval(principal, tx, approval.id, given, self.conversation.clock())

    def write(self, text: str, provider_id: str, button_id: str = "") -> None:
        """The user writes on WhatsApp or presses a button, and the session is woken."""
        metadata = {"sender_name": "Priya"} | ({"button_id": button_id} if button_id else {})
        self.conversation.send_whatsapp(text, provider_id, metadata=metadata)
        self.conversation.run_turn()

    def dispatch(self, approval: Approval, database: Database | None = None) -> None:
        dispatch_call(
            self.make_dependencies(database), self.conversation.tenant_id, approval.tool_call_id, lambda: 900.0
        )

    def run_result_turn(self, reply: str = "Done.") -> str:
        """The turn that answers the outcome; return what the model was given."""
        self.conversation.model.script = [text_answer(reply)]
        before = len(self.conversation.model.requests)
        self.conversation.run_turn()
        asked = self.conversation.model.requests[before:]
        return str(asked[0].messages[-1]) if asked else ""

    def sweep(self) -> None:
        """Have everything done that is due."""
        desk = self.conversation
        turns = {"whatsapp": desk.turns, "web": desk.turns}
        queues = SweepQueues(turns, desk.outbox, desk.tools, desk.ingest, desk.embedding, desk.memory)
        sweep(SweepDependencies(desk.database, finders(queues), desk.wakeups, desk.clock), lambda: 60.0)

    def replies(self) -> list[str]:
        found = self.conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
        return [str(body) for (body,) in found]

    def make_dependencies(self, database: Database | None = None) -> DispatchDependencies[PendingWakeup]:
        def resume(tx: Transaction, tenant_id: UUID, ended: EndedCall, now: datetime) -> PendingWakeup | None:
            return store_tool_result(tx, tenant_id, ended, now)

        return DispatchDependencies(
            database=database or self.conversation.database,
            open_database=lambda: self.conversation.database,
            endpoints=self.conversation.make_dependencies().endpoints,
            resume=resume,
            wake=lambda _: None,
            principal_for=lambda tx, call: load_access(tx, call.user_id, call.binding_id).principal_for(call.name),
            wakeups=self.conversation.wakeups,
            callback_url=lambda *_: "",
            clock=self.conversation.clock,
            claim=approvals.claim,
        )
