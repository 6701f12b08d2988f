"""The named queries of due work."""

from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)
