"""REST and the console."""
