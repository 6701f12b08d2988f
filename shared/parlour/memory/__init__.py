"""What is remembered of the people an agent talks to: facts, episodes, summaries, and its own notes on a talk."""
