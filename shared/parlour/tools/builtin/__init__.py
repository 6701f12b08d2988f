"""The tools that this room gives to models."""
