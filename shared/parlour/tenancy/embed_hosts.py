"""Embed hosts: the pages of other hosts that may show a binding's chat. Pure."""

from parlour.infra.json_values import JsonObject


def list_embed_origins(channels: JsonObject) -> tuple[str, ...]:
    """Return the origins of a binding's embed hosts, exactly as browsers send them.

    Pages are on https. Names below .localhost are a developer's own machine, where they are on http.
    """
    web = channels.get("web")
    hosts = web.get("embed_hosts") if isinstance(web, dict) else None
    return tuple(_origin(host) for host in hosts if isinstance(host, str)) if isinstance(hosts, list) else ()


def _origin(host: str) -> str:
    name = host.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return f"http://{host.removesuffix(':80')}"
    return f"https://{host.removesuffix(':443')}"
