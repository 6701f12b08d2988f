"""Attacks from the open internet, each with the defence that stops it and the allowed case that must still work."""
