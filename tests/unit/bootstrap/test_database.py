"""How a function reaches the database: what its secret and its settings say."""

import ssl

from parlour.bootstrap.database import connection_parameters

_SECRET = '{"username": "app", "password": "p", "host": "127.0.0.1", "port": 5432, "dbname": "laptop"}'


def test_a_host_across_a_network_has_to_prove_its_name() -> None:
    found = connection_parameters(_SECRET, "proxy.eu-west-1.rds.amazonaws.com", "parlour")
    assert (found["host"], found["sslmode"]) == ("proxy.eu-west-1.rds.amazonaws.com", "verify-full")
    trusted = ssl.create_default_context(cafile=str(found["sslrootcert"])).get_ca_certs()
    subjects = [str(authority["subject"]) for authority in trusted]
    assert any("'Amazon Root CA 1'" in subject for subject in subjects)  # RDS Proxy
    assert any("'Amazon RDS eu-west-1 Root CA RSA2048 G1'" in subject for subject in subjects)  # Aurora itself
    assert all("Amazon" in subject or "Starfield Services" in subject for subject in subjects)


def test_a_laptop_reaches_its_own_database_as_the_secret_says() -> None:
    assert connection_parameters(_SECRET, "", "parlour") == {
        "user": "app",
        "password": "p",
        "dbname": "laptop",
        "host": "127.0.0.1",
        "port": 5432,
    }
