"""The room's only way to the database."""

from collections.abc import Sequence

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tools.definition import Tool

SQL = Queries.beside(__file__)


def tools(tx: Transaction, names: Sequence[str]) -> list[Tool]:
    return tx.all(SQL["tools"], Tool, names=list(names))
