"""The built console as a browser gets it: what it may keep, and what a missing build or file answers."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from parlour.api import error_responses
from parlour.api.middleware import SecurityMiddleware
from parlour.api.routes.console import ConsoleFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a build, which is not made yet."""
    return tmp_path / "console"


@pytest.fixture
def client(folder: Path) -> TestClient:
    app = FastAPI()
    error_responses.install_error_handlers(app)
    app.add_middleware(SecurityMiddleware)
    app.mount("/console", ConsoleFiles(folder))
    return TestClient(app)


def build(folder: Path) -> None:
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>", "utf-8")
    (folder / "assets" / "index-4f2a.js").write_text("export {};", "utf-8")


def test_hashed_file_is_kept_by_the_browser_and_a_page_is_not(client: TestClient, folder: Path) -> None:
    build(folder)
    script = client.get("/console/assets/index-4f2a.js")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    again = client.get("/console/assets/index-4f2a.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.headers["cache-control"]) == (304, script.headers["cache-control"])
    for page in ("", "index.html"):
        assert client.get(f"/console/{page}").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["nothing.html", "assets/index-0000.js", "assets", "%2e%2e/secrets.json"])
def test_unknown_file_is_not_found_and_not_kept(client: TestClient, folder: Path, path: str) -> None:
    build(folder)
    (folder.parent / "secrets.json").write_text("{}", "utf-8")
    answer = client.get(f"/console/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert answer.headers["cache-control"] == "no-cache"


def test_missing_build_says_how_to_make_it_until_it_is_there(client: TestClient, folder: Path) -> None:
    for path in ("", "index.html", "assets/index-4f2a.js"):
        answer = client.get(f"/console/{path}")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "The console is not built: run `make console`."
    build(folder)
    assert client.get("/console/").status_code == 200
