"""The `parlour` command: talks to a deployment over its API, and to nothing else."""

from parlour.cli.app import main

__all__ = ["main"]
