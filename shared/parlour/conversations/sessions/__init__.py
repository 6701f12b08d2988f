"""Sessions as their users know them: which there are, what they are called, which come first and which are put away."""
