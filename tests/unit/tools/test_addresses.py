"""What may be reached: public addresses, whatever they are disguised as, and the hosts a deployment calls its own."""

import pytest

from parlour.infra.errors import Misconfigured
from parlour.tools.addresses import PrivateHosts, find_address_problem, is_public


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001:82a::200e"])
def test_public_addresses_may_be_reached(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # this machine, on Linux
        "10.0.0.1",
        "100.64.0.1",  # carrier-grade NAT
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",  # the metadata service
        "172.16.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::169.254.169.254",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",  # Teredo
        "2001:db8::1",
        "2002:7f00:1::1",  # 6to4 of 127.0.0.1
        "2002:0808:0808::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",  # the metadata service
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "2606:4700:4700::1111%1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "localhost",
        "",
    ],
)
def test_everything_else_may_not(address: str) -> None:
    assert not is_public(address)


def test_a_deployment_names_a_tenants_hosts_with_a_port_or_for_every_port() -> None:
    hosts = PrivateHosts.parse(" acme@erp.internal , acme@office.example:8443,")
    assert hosts.is_allowed("acme", "http://erp.internal/x")
    assert hosts.is_allowed("acme", "https://ERP.internal:9000/x")
    assert hosts.is_allowed("acme", "https://office.example:8443/x")
    assert not hosts.is_allowed("acme", "https://office.example/x")
    assert not hosts.is_allowed("acme", "https://erp.internal.evil.example/x")
    assert hosts.target_url("acme", "https://erp.internal/x") == "https://erp.internal/x"


def test_a_deployment_may_say_where_a_host_is_answered() -> None:
    hosts = PrivateHosts.parse("acme@office.example=http://127.0.0.1:8707")
    assert hosts.target_url("acme", "https://office.example/rfis?a=1") == "http://127.0.0.1:8707/rfis?a=1"
    assert hosts.target_url("acme", "https://other.example/rfis") == "https://other.example/rfis"


def test_a_host_is_the_tenants_that_is_named_with_it_and_nobody_elses() -> None:
    hosts = PrivateHosts.parse("acme@erp.internal=http://10.0.0.1:80, brick@erp.internal=http://10.0.0.2:80")
    assert hosts.target_url("acme", "https://erp.internal/x") == "http://10.0.0.1:80/x"
    assert hosts.target_url("brick", "https://erp.internal/x") == "http://10.0.0.2:80/x"
    for other in ("acme2", "", "acme@erp.internal"):
        assert not hosts.is_allowed(other, "https://erp.internal/x")
        assert hosts.target_url(other, "https://erp.internal/x") == "https://erp.internal/x"


@pytest.mark.parametrize(
    "text",
    [
        "t@a=b",
        "t@a=ftp://b",
        "t@a=http://b/path",
        "t@a=http://",
        "erp.internal",
        "erp.internal=http://10.0.0.1:80",
        "@erp.internal",
        "t@",
        "t@=http://10.0.0.1:80",
        "erp.internal=http://t@10.0.0.1:80",
    ],
)
def test_a_wrong_setting_is_named(text: str) -> None:
    with pytest.raises(Misconfigured, match="PRIVATE_TOOL_HOSTS"):
        PrivateHosts.parse(text)


def test_no_host_is_private_unless_it_is_named() -> None:
    assert not PrivateHosts.parse("").is_allowed("acme", "http://localhost/")


LAPTOP = PrivateHosts.parse("*@127.0.0.1, *@localhost, acme@site-office.example=http://10.0.0.5:80")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8077/weather",
        "https://127.0.0.1/weather",
        "https://10.1.2.3/weather",
        "https://169.254.169.254/latest",
        "https://[::1]/weather",
        "https://[fd00::1]:8443/weather",
        "https://localhost/weather",
        "https://LOCALHOST./weather",
        "https://api.localhost/weather",
        "http://weather.example/today",
    ],
)
def test_an_address_that_is_never_called_is_a_problem_before_it_is_called(url: str) -> None:
    assert find_address_problem("acme", url, PrivateHosts({}))


@pytest.mark.parametrize(
    "url", ["https://weather.example/today", "https://93.184.216.34/today", "python:search", "function:a.b"]
)
def test_addresses_that_may_be_called_are_no_problem(url: str) -> None:
    assert find_address_problem("acme", url, PrivateHosts({})) is None


def test_a_laptop_calls_the_tools_of_every_tenant_at_127_0_0_1() -> None:
    for tenant in ("acme", "rad-und-tal"):
        assert find_address_problem(tenant, "http://127.0.0.1:8077/weather", LAPTOP) is None
        assert LAPTOP.target_url(tenant, "http://localhost:8077/a") == "http://localhost:8077/a"
    assert find_address_problem("acme", "http://site-office.example/a", LAPTOP) is None
    assert find_address_problem("other", "http://site-office.example/a", LAPTOP)
    assert find_address_problem("acme", "https://10.0.0.7/a", LAPTOP)
