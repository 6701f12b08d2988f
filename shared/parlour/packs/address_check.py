"""Whether a deployment will call the addresses of a pack's tools, before the pack is put in force. Pure."""

from collections.abc import Iterator

from parlour.infra.errors import PackProblem
from parlour.packs.format import Pack
from parlour.packs.source_positions import ParsedYaml
from parlour.tools.addresses import PrivateHosts, find_address_problem


def find_address_problems(pack: Pack, private_hosts: PrivateHosts) -> Iterator[PackProblem]:
    """Yield one for each address that every call would be refused for: plain http, or a private host."""
    for name, tool in pack.tools.items():
        file = f"tools/{name}.yaml"
        for field, url in (("endpoint", tool.endpoint), ("lookup", tool.lookup or "")):
            if message := find_address_problem(pack.tenant.slug, url, private_hosts):
                yield pack.files_by_path.get(file, ParsedYaml(file, None, {})).problem_at((field,), message)
