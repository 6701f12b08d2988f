"""What a turn is told of what is remembered: facts, episodes and the agent's notes; and which of it was of any use."""
