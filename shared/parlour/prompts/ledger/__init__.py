"""What the prompts of a session stand on, and the record of each."""
