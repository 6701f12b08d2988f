"""What is going on with a record, now: when it is written anew, from what, and how it is read."""
