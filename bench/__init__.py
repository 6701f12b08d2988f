"""Measurements: `python -m bench.NAME [--json FILE]`. Nothing here is deployed."""
