"""How soon the work of killed workers goes on. `python -m bench.recovery` runs it."""
