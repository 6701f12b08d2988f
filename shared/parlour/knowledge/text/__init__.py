"""Reading and cutting text. Pure."""
