"""The API and the console under uvicorn, where events stream as they come, with the laptop-only routes beside them.

The same FastAPI app that runs as a function; it is started with the very environment that the template gave
the function. `python -m local.console --port 8700 ...` is what the stack runs.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import uvicorn
from fastapi import FastAPI

from local import laptop_routes
from local.issuer import Issuer, load_key
from local.laptop_routes import BusinessNumber, ConsoleAddresses, ConsolePhone
from parlour.bootstrap.http_api import build_http_api
from parlour.infra.postgres import Database
from parlour.tenancy import bindings, tenants


def build_app(addresses: ConsoleAddresses, showcase: Sequence[str], issuer: Issuer, subject: str) -> FastAPI:
    """The deployed app and the laptop's routes.

    showcase  tenants whose agents the chat page and the playground offer.
    subject   whom GET /local/token signs in.
    """
    app = build_http_api(local=True, showcase=tuple(showcase))
    handset = ConsolePhone(addresses, httpx2.Client(timeout=30), lambda: datetime.now(UTC))

    def find_numbers(slug: str) -> list[BusinessNumber]:
        with app.state.services.databases.borrow() as database:
            return list_business_numbers(database, slug)

    app.include_router(
        laptop_routes.build_router(
            handset, find_numbers, addresses.tenant, lambda: issuer.token(subject, datetime.now(UTC))
        )
    )
    return app


def list_business_numbers(database: Database, slug: str) -> list[BusinessNumber]:
    """Return the WhatsApp numbers of a tenant's active bindings, by the bindings' slugs."""
    tenant = tenants.find_tenant_by_slug(database, slug)
    if tenant is None:
        return []
    with database.transaction(tenant.tenant_id) as tx:
        found = [bindings.load_persona(tx, binding.id) for binding in bindings.list_active_bindings(tx)]
    numbers = []
    for persona in filter(None, found):
        whatsapp = persona.binding.channels.get("whatsapp")
        if isinstance(whatsapp, dict):
            number = str(whatsapp.get("app") or whatsapp.get("phone_number_id"))
            names = (persona.binding.slug, persona.binding.display_name, persona.human.display_name)
            numbers.append(BusinessNumber(*names, provider=str(whatsapp["provider"]), number=number))
    return numbers


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="Serve the API and the console on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--webhook", required=True, help="Gupshup's deployed webhook, with its token")
    parser.add_argument("--whatsapp", required=True, help="Meta's deployed webhook")
    parser.add_argument("--whatsapp-secret", required=True, help="the app secret that Meta's webhooks are signed with")
    parser.add_argument("--phone", required=True, help="base URL of the phone")
    parser.add_argument("--tenants", required=True, help="slugs with commas; the console opens with the first")
    parser.add_argument("--issuer", required=True, help="URL of the development issuer")
    parser.add_argument("--issuer-key", type=Path, required=True)
    parser.add_argument("--subject", required=True)
    chosen = parser.parse_args()
    slugs = chosen.tenants.split(",")
    places = ConsoleAddresses(
        webhook=chosen.webhook,
        whatsapp=chosen.whatsapp,
        whatsapp_secret=chosen.whatsapp_secret,
        phone=chosen.phone,
        tenant=slugs[0],
    )
    app = build_app(places, slugs, Issuer(chosen.issuer, load_key(chosen.issuer_key)), chosen.subject)
    uvicorn.run(app, host="127.0.0.1", port=chosen.port, log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main()
