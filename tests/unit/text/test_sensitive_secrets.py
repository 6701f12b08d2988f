"""Secrets and numbers that prove identity are never kept, however they are written."""

import pytest

from parlour.text.sensitive_data import is_sensitive

SECRETS = [
    ("", "my pin code is 600001 and my password is hunter2"),
    ("atm_pin", "4321"),
    ("about.pin", "my ATM pin is 4321"),
    ("about.pin", "600001"),
    ("about.pin_code", "4321"),
    ("about.atm", "my ATM pin code is 432112"),
    ("about.upi", "my upi pin 4455"),
    ("pan", "ABCDE1234F"),
    ("about.tax", "abcde1234f"),
    ("about.passport", "Z1234567"),
    ("about.licence", "KA0120110012345"),
    ("about.voter_id", "ABC1234567"),
    ("about.account_number", "50100234567890"),
    ("about.x", "my account is 50100234567890"),
    ("about.x", "DE89 3704 0044 0532 0130 00"),
    ("about.x", "my card is 4111.1111.1111.1111"),
    ("about.x", "my card is 4111/1111/1111/1111"),
    ("about.x", "my card is 4111 1111 1111 1111 12/27"),
    ("about.x", "my card is 4111 - 1111 - 1111 - 1111"),
    ("about.x", "मेरा कार्ड ४१११ ११११ ११११ ११११"),
    ("about.x", "मेरा पासवर्ड hunter2 है"),
    ("about.x", "मेरा पिन 4321 है"),
    ("about.x", "என் கடவுச்சொல் hunter2"),
    ("about.x", "كلمة السر hunter2"),
    ("about.x", "passwd is abc"),
    ("about.wifi", "my wifi pwd is abc"),
    ("about.x", "mi contraseña es abc"),
]

NO_SECRETS = [
    ("address", "MG Road, PIN code 411001"),
    ("address", "12 MG Road, Chennai, PIN: 600 001"),
    ("about.pin_code", "600001"),
    ("about.x", "मेरा पिन कोड 600001 है"),
    ("phone", "+91 98765 43210"),
    ("about.gst_number", "23AABCF1234K1Z5"),
    ("about.licence_plate", "KA 01 AB 1234"),
    ("preference.pan", "non-stick pan"),
    ("about.passport", "expires in May"),
    ("company", "Pin Point Ltd"),
    ("birthday", "12.03.1990"),
    ("budget", "50,00,000"),
]


@pytest.mark.parametrize(("key", "value"), SECRETS)
def test_a_secret_is_known_however_it_is_written(key: str, value: str) -> None:
    assert is_sensitive(key, value)


@pytest.mark.parametrize(("key", "value"), NO_SECRETS)
def test_not_every_number_is_a_secret(key: str, value: str) -> None:
    assert not is_sensitive(key, value)
