"""The named queries of due work."""

from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)
