"""One turn: received, journalled, run, answered."""
