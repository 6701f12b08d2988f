"""Recorded conversations: whether the prompts of today's code are those of the code they were recorded with."""
