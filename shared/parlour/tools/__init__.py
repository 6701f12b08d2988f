"""What an agent can do besides talk."""
