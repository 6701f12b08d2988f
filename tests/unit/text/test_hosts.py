"""Hosts in text, and the domains that somebody registered."""

from importlib.resources import files

import pytest

from parlour.text.hosts import find_host, registered_domain, top_level_domains


def test_the_top_level_domains_are_those_of_the_newest_list_at_hand() -> None:
    newest = files("hypothesis.vendor").joinpath("tlds-alpha-by-domain.txt").read_text("ascii").lower()
    assert {line for line in newest.splitlines() if not line.startswith("#")} <= top_level_domains()


@pytest.mark.parametrize(
    ("dotted", "host"),
    [
        ("a.evil.example", "a.evil.example"),
        ("EVIL.COM", "EVIL.COM"),
        ("www.anything", "www.anything"),
        ("evil.com.Zebra", "evil.com"),
        ("evil.com_", "evil.com"),
        ("evil.com\u306f", "evil.com"),
        ("\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444", "\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444"),
        ("evil.xn--p1ai", "evil.xn--p1ai"),
        ("report.pdf", ""),
        ("10.30", ""),
        ("e.g", ""),
    ],
)
def test_a_host_reaches_as_far_as_its_last_top_level_domain(dotted: str, host: str) -> None:
    assert find_host(dotted) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.evil.example", "evil.example"),
        ("evil.example", "evil.example"),
        ("a.evil.co.uk", "evil.co.uk"),
        ("co.uk", "co.uk"),
        ("a.co.example", "co.example"),
        ("localhost", "localhost"),
    ],
)
def test_the_registered_domain_has_no_subdomains(host: str, domain: str) -> None:
    assert registered_domain(host) == domain
