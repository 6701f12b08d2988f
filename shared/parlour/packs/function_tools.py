"""The tools that the functions of a pack's folder define, as tool files of the pack."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

import parlour
from parlour.infra.errors import InvalidPack, PackProblem

FUNCTIONS_FOLDER = "functions"
"""Where a pack has its Python code. It is not part of what is applied: it runs as a function of its own."""

_SECONDS = 60

#: Where a line of a traceback is: its file and line number.
_TRACEBACK_PLACE = re.compile(r'^[ ]*File "([^"\n]+)", line (\d+)', re.MULTILINE)


def has_functions(pack: Path) -> bool:
    """Return whether the pack has code."""
    return any((pack / FUNCTIONS_FOLDER).glob("*.py"))


def read_function_tools(pack: Path) -> dict[str, str]:
    """Return a tool file for each decorated function of the pack, by path.

    The code is imported in a process of its own, without this environment; `functions/.venv` has its requirements, if
    it is there. Raises InvalidPack when it cannot be imported.
    """
    if not has_functions(pack):
        return {}
    folder = (pack / FUNCTIONS_FOLDER).resolve()
    own = folder / ".venv" / "bin" / "python"
    command = [str(own) if own.exists() else sys.executable, "-m", "parlour.pack_functions.description", str(folder)]
    package = Path(str(parlour.__file__)).parents[1]
    environment = {"PATH": os.defpath, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - our module, the builder's own folder
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        tools = json.loads(done.stdout.strip().rpartition("\n")[2])  # the code may print, too
    except subprocess.CalledProcessError as error:
        raise InvalidPack([_import_problem(error.stderr, folder)]) from None
    except (subprocess.TimeoutExpired, ValueError):
        message = f"did not list its tools within {_SECONDS} seconds; nothing may run when a module is imported"
        raise InvalidPack([PackProblem(FUNCTIONS_FOLDER, 1, "-", message)]) from None
    return {
        f"tools/{name}.yaml": yaml.safe_dump(tool, sort_keys=False, allow_unicode=True) for name, tool in tools.items()
    }


def _import_problem(stderr: str, folder: Path) -> PackProblem:
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    last = lines[-1][:300] if lines else "the process ended without a word"
    hint = ""
    if last.startswith("ModuleNotFoundError"):
        hint = "; install its requirements: python -m venv functions/.venv && functions/.venv/bin/pip install -r "
        hint += "functions/requirements.txt"
    places = [(Path(file), int(line)) for file, line in _TRACEBACK_PLACE.findall(stderr)]
    own = [(file, line) for file, line in places if file.is_relative_to(folder) and ".venv" not in file.parts]
    file, line = own[-1] if own else (folder, 1)
    shown = (Path(FUNCTIONS_FOLDER) / file.relative_to(folder)).as_posix()
    return PackProblem(shown, line, "-", f"cannot be imported: {last}{hint}")
