"""What `sam build` makes runs by itself: under AWS's own runtime client, with nothing but its folder and its layers."""

import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cold_start import EVENTS, SNAPSHOTS
from bench.function_environment import surroundings
from layers.compile import LAYERS
from local import deployment
from local.invoke import list_functions, read_event
from local.lambda_runtime import FunctionCode, Sandbox
from local.package import MAX_BYTES, layer_sizes
from local.state import STATE_FOLDER

_LISTING = """
import sys
import handler

def modules(event, context):
    answer = handler.handler(event, context)
    return [answer, sorted(sys.modules)]
"""

_TRANSFORM = """
import json, sys
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse
template = yaml_parse(open("template.yaml").read())
for entry in template["Resources"].values():
    for name in ("CodeUri", "ContentUri"):
        if name in entry.get("Properties", {}):
            entry["Properties"][name] = "s3://bucket/key"
loader = type("Loader", (), {"load": lambda self: {}})()
parameters = {"CodeHash": sys.argv[1]}
resources = transform(template, parameters, loader)["Resources"]
versions = {name: entry for name, entry in resources.items() if entry["Type"] == "AWS::Lambda::Version"}
print(json.dumps({entry["Properties"]["FunctionName"]["Ref"]: name for name, entry in versions.items()}))
"""


@pytest.fixture(scope="module")
def built() -> Path:
    return deployment.build(deployment.host_architecture(), print)


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with surroundings() as given:
        yield given


def listing(code: FunctionCode, folder: Path) -> FunctionCode:
    """The function, answering with what it answers and every module it has loaded."""
    (folder / "listing.py").write_text(_LISTING)
    return FunctionCode(code.folder, (folder, *code.layers), "listing.modules")


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_uploaded_as_the_zip_of_its_folder(built: Path, layer: str) -> None:
    assert f"ContentUri: {layer}.zip\n" in built.read_text("utf-8")
    with zipfile.ZipFile(built.with_name(f"{layer}.zip")) as zipped:
        files = {Path(entry.filename): entry.file_size for entry in zipped.infolist() if not entry.is_dir()}
    folder = built.with_name(layer)
    assert files == {path.relative_to(folder): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def test_every_function_is_measured_and_tested_here() -> None:
    assert set(EVENTS) == set(list_functions())


@pytest.mark.parametrize("function", EVENTS)
def test_a_function_answers_with_only_its_layers(built: Path, environment: dict[str, str], function: str) -> None:
    with Sandbox(deployment.function_code(built, function), environment, snapshot=function in SNAPSHOTS) as sandbox:
        answer = sandbox.invoke(read_event(EVENTS[function]))
    assert set(answer) & {"statusCode", "batchItemFailures", "applied", "sent_count", "problem"}
    assert answer.get("statusCode", 200) == 200


def test_inbound_loads_no_database_driver_and_no_model_sdk(
    built: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with Sandbox(listing(deployment.function_code(built, "inbound"), tmp_path), environment) as sandbox:
        answer, modules = sandbox.invoke(read_event(EVENTS["inbound"]))
    assert answer["statusCode"] == 200
    assert "boto3" in modules
    assert not {"psycopg", "anthropic", "fastapi", "tiktoken"} & set(modules)


@pytest.mark.parametrize("function", ["receiver", "outbound", "migrate"])
def test_a_worker_loads_no_model_sdk(built: Path, environment: dict[str, str], tmp_path: Path, function: str) -> None:
    with Sandbox(listing(deployment.function_code(built, function), tmp_path), environment) as sandbox:
        _, modules = sandbox.invoke(read_event(EVENTS[function]))
    assert "psycopg" in modules
    assert not {"anthropic", "fastapi"} & set(modules)


def test_migrate_brings_an_empty_database_to_this_release(built: Path) -> None:
    with surroundings(migrated=False) as given, Sandbox(deployment.function_code(built, "migrate"), given) as sandbox:
        first, again = sandbox.invoke({}), sandbox.invoke({})
    shipped = sorted(path.stem for path in Path("shared/parlour/infra/migrations").glob("*.sql"))
    assert (first["applied"], len(first["indexed"])) == (shipped, 1)
    assert again == {"applied": [], "indexed": []}


def test_the_package_is_in_its_layer_whole(built: Path) -> None:
    layer = built.parent / "SharedLayer" / "python"
    wanted = {
        path.relative_to("shared").as_posix()
        for path in Path("shared").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = {path.relative_to(layer).as_posix() for path in layer.rglob("*") if "__pycache__" not in path.parts}
    assert "parlour/infra/migrations/0001_schema.sql" in wanted
    assert wanted <= there


def test_the_layers_carry_bytecode_that_no_unpacking_outdates(built: Path) -> None:
    for layer in LAYERS:
        caches = list((built.parent / layer).rglob("__pycache__/*.cpython-313.pyc"))
        assert caches
        assert all(int.from_bytes(cache.read_bytes()[4:8], "little") == 0b01 for cache in caches)


def test_the_layers_fit_into_a_function(built: Path) -> None:
    assert 0 < sum(layer_sizes(built).values()) < MAX_BYTES


def test_a_changed_layer_gives_a_new_version_and_an_unchanged_one_does_not() -> None:
    before, same, after = versions("a" * 64), versions("a" * 64), versions("b" * 64)
    assert set(before) == {"InboundFunction", "OrchestratorFunction", "HttpApiFunction"}
    assert before == same
    assert not set(before.values()) & set(after.values())


def versions(code_hash: str) -> dict[str, str]:
    """The names of the versions that AWS's own transform gives the functions for that hash."""
    python = STATE_FOLDER / "sam" / "bin" / "python"
    region = {"AWS_DEFAULT_REGION": "us-east-1"}
    ran = subprocess.run([python, "-c", _TRANSFORM, code_hash], env=region, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(ran.stdout)
    return found
