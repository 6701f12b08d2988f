"""Telling people that a conversation needs them, by e-mail and by webhook."""
