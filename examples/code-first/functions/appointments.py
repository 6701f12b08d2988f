"""The salon's diary as two tools.

The diary is a file, for the example. A file of a Lambda function goes with its environment: keep yours in a database.
"""

import datetime as dt
import json
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

import parlour


def _diary() -> Path:
    return Path(os.environ.get("DIARY", "/tmp/salon-diary.json"))


HOURS = range(9, 17)


@parlour.tool(trusted_results=True)  # only times, so booking one of them asks nobody
def free_times(day: dt.date) -> list[str]:
    """List the free times of a day."""
    taken = {entry["start"] for entry in _read().values()}
    times = [dt.datetime.combine(day, dt.time(hour)).isoformat() for hour in HOURS]
    return [time for time in times if time not in taken]


@parlour.tool(writes=True)
def book_appointment(
    name: Annotated[str, Field(max_length=80, description="Who comes.")],
    start: Annotated[dt.datetime, Field(description="A free time, as free_times gives it.")],
    call: parlour.ToolCall,
) -> dict[str, str]:
    """Book an appointment. Use it only when the user asked for this time."""
    diary = _read()
    if any(entry["start"] == start.isoformat() for entry in diary.values()):
        raise parlour.ToolRefusal("this time is taken; offer another one")
    diary[call.key] = {"number": f"A-{len(diary) + 1}", "name": name, "start": start.isoformat()}
    _diary().write_text(json.dumps(diary))
    return diary[call.key]


@book_appointment.lookup
def find_booking(call: parlour.ToolCall) -> dict[str, str] | None:
    """Return what an earlier call with this key booked. After a crash Parlour asks this before it calls again."""
    return _read().get(call.key)


def _read() -> dict[str, dict[str, str]]:
    return json.loads(_diary().read_text()) if _diary().exists() else {}
