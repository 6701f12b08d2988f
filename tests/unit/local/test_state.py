"""What a stack keeps, and the one-line answers when it cannot start."""

import socket
from pathlib import Path

import pytest

from local.errors import StackError
from local.state import Ports, check_disk_space, free_ports, load_keys, lock_folder, ports_from_environment


def test_keys_are_made_once_and_are_their_owners_only(tmp_path: Path) -> None:
    first = load_keys(tmp_path)
    assert load_keys(tmp_path) == first
    assert len(set(first.__class__.__dataclass_fields__)) == 8
    assert (tmp_path / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_a_key_that_a_newer_release_needs_is_added_to_the_old_ones(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text('{"operator_key": "mine"}')
    assert load_keys(tmp_path).operator_key == "mine"
    assert len(load_keys(tmp_path).token_secret) >= 32


def test_a_busy_port_is_named_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=rf"{port} \(the phone's\).*PARLOUR_PHONE_PORT"):
            Ports(*[*free_numbers(), port, *free_numbers()][:5]).check_free()


def free_numbers() -> list[int]:
    ports = free_ports()
    return [ports.console, ports.emulator]


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports()
    ports.check_free()
    assert len({ports.console, ports.emulator, ports.phone, ports.embeddings, ports.issuer}) == 5


def test_ports_can_be_chosen_by_variable() -> None:
    assert ports_from_environment({"PARLOUR_CONSOLE_PORT": "9000"}) == Ports(console=9000)


@pytest.mark.parametrize("text", ["http", "0", "70000", "-1"])
def test_a_port_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(StackError, match="PARLOUR_ISSUER_PORT"):
        ports_from_environment({"PARLOUR_ISSUER_PORT": text})


def test_a_folder_is_used_by_one_stack_at_a_time(tmp_path: Path) -> None:
    with lock_folder(tmp_path), pytest.raises(StackError, match="already running here: process"), lock_folder(tmp_path):
        pass
    with lock_folder(tmp_path):
        pass


def test_a_nearly_full_disk_is_said_before_anything_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.state._NEEDED_BYTES", 10**18)
    with pytest.raises(StackError, match="MB free"):
        check_disk_space(tmp_path)
