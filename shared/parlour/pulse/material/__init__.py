"""What a Pulse is written from: read at one classification level, numbered, and put into a prompt."""
