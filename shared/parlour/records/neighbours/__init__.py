"""What stands around a record, for the briefing of a conversation about it."""
