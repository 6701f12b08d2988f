"""aimock as a child process: an implementation of the providers' protocols that is not ours."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

_FOLDER = Path(__file__).parents[2] / "protocol_server"
_CLI = _FOLDER / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
_START_SECONDS = 30.0


class ProtocolServer:
    """One running server; what it answers is added as fixtures, what it was asked is in its journal."""

    def __init__(self, folder: Path) -> None:
        node = shutil.which("node")
        if node is None or not _CLI.is_file():
            pytest.fail(
                "the protocol server is missing; install Node.js 20 and run: npm ci --prefix tests/protocol_server"
            )
        fixtures = folder / "fixtures"
        fixtures.mkdir()
        command = [node, str(_CLI), "--port", "0", "--fixtures", str(fixtures)]
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.url = self._address(folder / "log")
        self._control = httpx2.Client(base_url=f"{self.url}/__aimock/")

    def answer(self, match: dict[str, Any], response: dict[str, Any], **options: Any) -> None:
        """Answer requests that match; options are how: chunkSize, latency, truncateAfterChunks, streamingProfile."""
        fixture = {"match": match, "response": response, **options}
        self._control.post("fixtures", json={"fixtures": [fixture]}).raise_for_status()

    def asked(self) -> list[Any]:
        """Every request so far: path, headers, and the body in the server's own words."""
        return list(self._control.get("journal").raise_for_status().json())

    def reset(self) -> None:
        self._control.post("reset").raise_for_status()

    def stop(self) -> None:
        self._control.close()
        self._process.terminate()
        self._process.wait(10)

    def _address(self, log: Path) -> str:
        until = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            if found := re.search(r"listening on (http://\S+)", log.read_text()):
                return found[1].rstrip("/")
            time.sleep(0.02)
        self._process.kill()
        pytest.fail(f"the protocol server did not start: {log.read_text()}")
