"""Pulses read: what one says, what came since, what it said before, and what all of them cost."""
