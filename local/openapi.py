"""Print the description of the API as OpenAPI: `python -m local.openapi`. It needs no database and no network."""

import json
import sys

from parlour.api.app import create_routes


def main() -> None:
    """Write the description to the standard output as JSON."""
    json.dump(create_routes().openapi(), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
