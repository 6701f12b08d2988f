"""The API and the console under uvicorn, where events stream as they come, with the laptop-only routes beside them.

The same FastAPI app that runs as a function; it is started with the very environment that the template gave
the function. `python -m local.console --port 8700 ...` is what the stack runs.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import uvicorn
from fastapi import FastAPI

from local import laptop_routes
from local.issuer import Issuer, load_key
from local.laptop_routes import ConsoleAddresses, ConsolePhone
from parlour.bootstrap.http_api import build_http_api


def build_app(addresses: ConsoleAddresses, issuer: Issuer, subject: str) -> FastAPI:
    """The deployed app and the laptop's routes; `subject` is whom GET /local/token signs in."""
    app = build_http_api(local=True, showcase=(addresses.tenant,))
    handset = ConsolePhone(addresses, httpx2.Client(timeout=30), lambda: datetime.now(UTC))
    app.include_router(laptop_routes.build_router(handset, addresses, lambda: issuer.token(subject, datetime.now(UTC))))
    return app


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="Serve the API and the console on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--webhook", required=True, help="the deployed webhook, with its token")
    parser.add_argument("--phone", required=True, help="base URL of the phone")
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--contact", required=True, help="whom the phone talks to")
    parser.add_argument("--binding", required=True, help="slug of the binding that the phone talks to")
    parser.add_argument("--issuer", required=True, help="URL of the development issuer")
    parser.add_argument("--issuer-key", type=Path, required=True)
    parser.add_argument("--subject", required=True)
    chosen = parser.parse_args()
    places = ConsoleAddresses(
        webhook=chosen.webhook,
        phone=chosen.phone,
        contact=chosen.contact,
        binding=chosen.binding,
        tenant=chosen.tenant,
    )
    app = build_app(places, Issuer(chosen.issuer, load_key(chosen.issuer_key)), chosen.subject)
    uvicorn.run(app, host="127.0.0.1", port=chosen.port, log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main()
