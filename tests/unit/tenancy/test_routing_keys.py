import pytest

from parlour.tenancy import routing_keys
from parlour.tenancy.tenants import is_slug


@pytest.mark.parametrize(
    "host",
    [
        "chat.example.com",
        "CHAT.Example.com",
        "chat.example.com:8443",
        "chat.example.com.",
        " chat.example.com ",
        "chat.example.com.:80",
    ],
)
def test_one_host_has_one_key_however_it_is_written(host: str) -> None:
    assert routing_keys.web_key(host) == "web:chat.example.com"


def test_an_address_in_brackets_keeps_its_colons() -> None:
    assert routing_keys.web_key("[::1]:8701") == "web:[::1]"


def test_a_gupshup_app_keeps_its_case() -> None:
    assert routing_keys.gupshup_key("ParlourDemo") == "gupshup:ParlourDemo"


@pytest.mark.parametrize("slug", ["a", "acme", "acme-2", "9-lives", "a" * 63])
def test_these_name_a_tenant(slug: str) -> None:
    assert is_slug(slug)


@pytest.mark.parametrize("slug", ["", "-acme", "Acme", "a" * 64, "acme\n", "a_b", "acmé", "a\x00"])
def test_these_do_not(slug: str) -> None:
    assert not is_slug(slug)
