"""`python -m bench.reach [--json FILE]`: how much of the product one piece of work runs through.

Each row plays one piece of work through the real handlers, on the real database and served queues, and counts with
`coverage` the product's files in which a line of a function ran, and those lines.

    text    a WhatsApp text with one search: inbound, receiver, orchestrator, outbound.
    fact    what a model finds in that conversation afterwards: memory_extractor.
    Pulse   one record's summary written anew: pulse_sweep, pulse_writer, with the offline model.
"""

import ast
import importlib.util
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import psycopg
from coverage import Coverage
from psycopg import sql

from bench import report
from bench.function_environment import TOKEN, surroundings
from local import emulator
from local.gupshup_webhooks import text_message
from local.interrupts import StopSignals
from local.processes import ProcessGroup
from local.scripted_model import Script, ScriptedModel, ToolUse
from local.servers import start_server
from local.state import ROOT, STATE_FOLDER, free_ports, minimal_environment
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, connector
from parlour.packs.apply import apply
from parlour.tenancy import roles
from tests.chaos.chaos_environment import ConstantEmbedder
from tests.chaos.chaos_pack import PACK_SECRETS, build_chaos_pack

APP = "Reach"
#: What the handlers read their settings from.
ENVIRONMENT = os.environ  # noqa: TID251 - the handlers are given it, as Lambda does
_SOURCES = [str(ROOT / "shared" / "parlour"), str(ROOT / "functions")]
_FACT = {"message": 1, "quote": "Pune", "key": "city", "value": "Pune", "certainty": 0.95}
_SCRIPT = Script(
    tool_uses=(ToolUse("search_knowledge", {"query": "crack width at C4"}),),
    reply="It is 0.35 mm wide [1].",
    background_reply=json.dumps({"facts": [_FACT], "episodes": []}),
)


class Context:
    """What Lambda says of the invocation: five minutes are left."""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def handler(function: str) -> Callable[[dict[str, Any], object], Any]:
    """Return a function's handler, loaded from its folder as Lambda does."""
    path = ROOT / "functions" / function / "handler.py"
    spec = importlib.util.spec_from_file_location(f"{function}_handler", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[dict[str, Any], object], Any] = module.handler
    return found


def post(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return Gupshup's POST as API Gateway hands it to the inbound function."""
    event: dict[str, Any] = json.loads((ROOT / "events" / "inbound_gupshup_text.json").read_text("utf-8"))
    return {**event, "pathParameters": {"token": TOKEN}, "body": json.dumps(payload), "isBase64Encoded": False}


def deliver(function: str, queue: str) -> None:
    """Give a function everything that waits on the queue, as SQS does; RuntimeError when it refuses any of it."""
    sqs = emulator.client("sqs", ENVIRONMENT["AWS_ENDPOINT_URL"])
    url = ENVIRONMENT[f"{queue}_QUEUE_URL"]
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"]).get("Messages", [])
    if not found:
        raise RuntimeError(f"nothing waits on {queue}")
    account, name = url.rstrip("/").rsplit("/", 2)[1:]
    records = [
        {
            "messageId": one["MessageId"],
            "receiptHandle": one["ReceiptHandle"],
            "body": one["Body"],
            "attributes": one["Attributes"],
            "messageAttributes": {},
            "md5OfBody": one["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": f"arn:aws:sqs:us-east-1:{account}:{name}",
            "awsRegion": "us-east-1",
        }
        for one in found
    ]
    answer = handler(function)({"Records": records}, Context())
    if answer["batchItemFailures"]:
        raise RuntimeError(f"{function} refused {len(answer['batchItemFailures'])} of {len(records)} messages")


@cache
def _function_lines(path: str) -> frozenset[int]:
    """Return the lines that run only when a function is called."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(
        line
        for function in functions
        for statement in function.body
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    )


def measure(what: str, work: Callable[[], None]) -> dict[str, report.Cell]:
    """Return the row of one piece of work."""
    coverage = Coverage(data_file=None, source=_SOURCES, concurrency=["thread"])
    coverage.start()
    try:
        work()
    finally:
        coverage.stop()
    data = coverage.get_data()
    ran = {path: len(_function_lines(path) & set(data.lines(path) or ())) for path in data.measured_files()}
    files, lines = sum(count > 0 for count in ran.values()), sum(ran.values())
    return {"work": what, "files": files, "lines": lines, "lines_per_file": round(lines / max(1, files), 1)}


@contextmanager
def prepared() -> Iterator[UUID]:
    """Set up a tenant with the example pack and the functions' environment; gives the tenant's id.

    A phone plays the provider, and a model plays the script.
    """
    with ExitStack() as running:
        environment = running.enter_context(surroundings())
        folder = STATE_FOLDER / f"reach-{os.getpid()}"
        folder.mkdir(parents=True)
        running.callback(shutil.rmtree, folder)
        processes = ProcessGroup(folder, running.enter_context(StopSignals()))
        running.callback(processes.stop)
        phone_port = free_ports().phone
        phone = start_server(processes, "phone", phone_port, "/messages", environment=minimal_environment())
        processes.wait_until_ready(phone.child, phone.is_ready, 30.0)
        model = ScriptedModel({"reach": _SCRIPT})
        running.callback(model.close)
        secrets = emulator.client("secretsmanager", environment["AWS_ENDPOINT_URL"])
        for name in PACK_SECRETS:
            secrets.create_secret(Name=f"parlour/parlour/tenants/reach/{name}", SecretString="not-a-secret")
        secrets.put_secret_value(
            SecretId=environment["MODEL_SECRET"], SecretString=json.dumps({"anthropic_api_key": "reach"})
        )
        ENVIRONMENT.update(
            environment
            | {
                "ANTHROPIC_BASE_URL": model.url,
                "EMBEDDING_URL": f"{model.url}/v1",
                "EMBEDDING_MODEL": ConstantEmbedder.model,
                "EMBEDDING_DIMENSIONS": str(ConstantEmbedder.dimensions),
                "GUPSHUP_BASE_URL": f"http://127.0.0.1:{phone_port}",
            }
        )
        tenant_id, now = uuid7(datetime.now(UTC)), datetime.now(UTC)
        with closing(Database(connector(_login()))) as database:
            apply(
                roles.operator_principal(tenant_id),
                database,
                ConstantEmbedder(),
                build_chaos_pack("reach", APP, with_knowledge=True),
                now,
            )
        yield tenant_id


def _login() -> dict[str, str]:
    """Return the app role's connection parameters, from the secret that the functions read."""
    secrets = emulator.client("secretsmanager", ENVIRONMENT["AWS_ENDPOINT_URL"])
    known = json.loads(secrets.get_secret_value(SecretId=ENVIRONMENT["DATABASE_SECRET"])["SecretString"])
    return {
        "host": known["host"],
        "dbname": known["dbname"],
        "user": known["username"],
        "password": known["password"],
    }


def make_due(tenant_id: UUID, kind: str, *, forget_others: bool = False) -> UUID:
    """Move the oldest due time of a kind of work into the past, and return the id that it is for."""
    with psycopg.connect(**_login()) as connection:  # type: ignore[arg-type]  # libpq's keys are text
        connection.execute("SELECT set_config('app.tenant_id', %s, true)", (str(tenant_id),))
        query = "SELECT id FROM work_due WHERE kind = %s ORDER BY due_at, id LIMIT 1"
        row = connection.execute(query, (kind,)).fetchone()
        if row is None:
            raise LookupError(f"no work of the kind {kind} is due")
        found: UUID = row[0]
        if forget_others:
            connection.execute("DELETE FROM work_due WHERE kind = %s AND id <> %s", (kind, found))
        connection.execute(
            "UPDATE work_due SET due_at = now() - interval '1 hour' WHERE kind = %s AND id = %s", (kind, found)
        )
        return found


def require_rows(tenant_id: UUID, table: str) -> None:
    """Raise RuntimeError when the work left nothing in the table that it is there to fill."""
    with psycopg.connect(**_login()) as connection:  # type: ignore[arg-type]  # libpq's keys are text
        connection.execute("SELECT set_config('app.tenant_id', %s, true)", (str(tenant_id),))
        if connection.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier(table))).fetchone() is None:
            raise RuntimeError(f"the work wrote nothing to {table}")


def one_text() -> None:
    """Send a WhatsApp text and have its reply sent."""
    text = "chaos reach r1: I moved to Pune. How wide is the crack at C4?"
    payload = text_message(
        app=APP, sender="+919800000001", name="Rosa", text=text, message_id="reach-1", now=datetime.now(UTC)
    )
    answer = handler("inbound")(post(payload), Context())
    if answer["statusCode"] != 200:
        raise RuntimeError(f"the webhook answered {answer['statusCode']}")
    deliver("receiver", "INTAKE")
    deliver("orchestrator", "TURNS_MESSAGING")
    deliver("outbound", "OUTBOX")
    received = httpx2.get(f"{ENVIRONMENT['GUPSHUP_BASE_URL']}/messages", timeout=10).json()["messages"]
    if not any("0.35 mm" in message["text"] for message in received):
        raise RuntimeError(f"the phone received {len(received)} messages, none of them the reply")


def one_fact(tenant_id: UUID, session_id: UUID) -> None:
    """Have the conversation read for facts."""
    order = {"tenant_id": str(tenant_id), "kind": "extraction", "target_id": str(session_id)}
    send("MEMORY", order)
    deliver("memory_extractor", "MEMORY")


def one_pulse() -> None:
    """Have the one stale record's Pulse written."""
    event = json.loads((ROOT / "events" / "pulse_sweep_schedule.json").read_text("utf-8"))
    handler("pulse_sweep")(event, Context())
    deliver("pulse_writer", "PULSE")


def send(queue: str, body: Mapping[str, str]) -> None:
    """Put one message on a queue, without a delay, in place of what is delayed there."""
    sqs = emulator.client("sqs", ENVIRONMENT["AWS_ENDPOINT_URL"])
    sqs.purge_queue(QueueUrl=ENVIRONMENT[f"{queue}_QUEUE_URL"])
    sqs.send_message(QueueUrl=ENVIRONMENT[f"{queue}_QUEUE_URL"], MessageBody=json.dumps(body))


def main() -> None:
    file = report.json_file(__doc__ or "")
    logging.disable(logging.CRITICAL)
    with prepared() as tenant_id:
        rows = [measure("one WhatsApp text and its reply", one_text)]
        session_id = make_due(tenant_id, "extraction")
        rows.append(measure("one fact", lambda: one_fact(tenant_id, session_id)))
        require_rows(tenant_id, "facts")
        make_due(tenant_id, "pulse", forget_others=True)
        no_key = json.dumps({"anthropic_api_key": ""})
        emulator.client("secretsmanager", ENVIRONMENT["AWS_ENDPOINT_URL"]).put_secret_value(
            SecretId=ENVIRONMENT["MODEL_SECRET"], SecretString=no_key
        )
        rows.append(measure("one Pulse", one_pulse))
        require_rows(tenant_id, "pulses")
    report.show("Files and lines of the product that one piece of work runs through", rows)
    report.write(file, rows)


if __name__ == "__main__":
    main()
