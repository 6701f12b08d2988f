"""How the small servers of a stack are started."""

import argparse

from local.servers import command_line_options


def test_a_secret_that_begins_with_a_dash_is_no_option_of_its_own() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--secret")
    parser.add_argument("--callback")
    given = parser.parse_args(command_line_options({"--secret": "-starts-so", "--callback": "http://127.0.0.1"}))
    assert (given.secret, given.callback) == ("-starts-so", "http://127.0.0.1")
