"""What is pinned is what is declared, whole, and the same where it is tested as where it runs."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from local.lock import LOCK_FILES

FILES = [lock.output for lock in LOCK_FILES]
LAYER = "layers/dependencies/requirements.txt"
EXTRACTION = "layers/extraction/requirements.txt"
DEV = "requirements/dev.txt"


def pins(file: str) -> dict[str, str]:
    """Versions by name."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", Path(file).read_text("utf-8"), flags=re.MULTILINE))


def declared(*extras: str) -> set[str]:
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    wanted = project["dependencies"] + [entry for extra in extras for entry in project["optional-dependencies"][extra]]
    return {re.split(r"[\[<>=! ;]", entry, maxsplit=1)[0].lower() for entry in wanted}


@pytest.mark.parametrize("file", FILES)
def test_every_pin_has_its_hashes_and_the_file_names_no_place(file: str) -> None:
    text = Path(file).read_text("utf-8")
    entries = re.findall(r"^[\w.-]+==\S+(?: \\\n +--hash=sha256:[0-9a-f]{64})+$", text, flags=re.MULTILINE)
    assert len(entries) == len(pins(file)) > 0
    assert "://" not in text
    assert not re.search(r"^-|\s/", text, flags=re.MULTILINE)


def test_the_layer_is_pinned_for_everything_the_package_declares() -> None:
    assert declared() <= set(pins(LAYER))
    assert declared("extraction") - declared() <= set(pins(EXTRACTION))


def test_the_development_environment_is_pinned_for_everything_declared() -> None:
    assert declared("cli", "extraction", "local", "dev") <= set(pins(DEV))


def test_what_is_tested_is_what_is_deployed() -> None:
    development = pins(DEV)
    for layer in (pins(LAYER), pins(EXTRACTION)):
        assert {name: development.get(name) for name in layer} == layer


def test_what_two_layers_have_in_common_is_one_version() -> None:
    both = pins(LAYER).keys() & pins(EXTRACTION).keys()
    assert {name: pins(EXTRACTION)[name] for name in both} == {name: pins(LAYER)[name] for name in both}


def test_native_packages_are_pinned_for_both_architectures() -> None:
    """One file serves both builds, so it carries more hashes than one platform's."""
    text = "".join(Path(layer).read_text("utf-8") for layer in (LAYER, EXTRACTION))
    for name in ("psycopg-binary", "pydantic-core", "cryptography", "tiktoken", "lxml", "pypdfium2", "python-calamine"):
        entry = re.search(rf"^{name}==\S+((?: \\\n +--hash=\S+)+)", text, flags=re.MULTILINE)
        assert entry is not None
        assert entry.group(1).count("--hash") > 10


@pytest.mark.parametrize("folder", ["console", "tests/browser", "tests/chatwoot_api", "tests/protocol_server"])
def test_npm_pins_have_their_hashes_and_name_no_place(folder: str) -> None:
    manifest = json.loads(Path(folder, "package.json").read_text("utf-8"))
    packages = json.loads(Path(folder, "package-lock.json").read_text("utf-8"))["packages"]
    locked = packages.pop("")
    for kind in ("dependencies", "devDependencies"):
        assert locked.get(kind, {}) == manifest.get(kind, {})
        assert {f"node_modules/{name}" for name in manifest.get(kind, {})} <= set(packages)
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not any("resolved" in package for package in packages.values())
