"""Searchable rows: bringing them in line with what they are made from, and giving them vectors."""
