"""What can go wrong on a laptop, in one line that says what to do."""


class StackError(Exception):
    """Something about this machine keeps the stack from running; the message is all a person needs."""
