"""Python functions and agents of a pack: their decorators, and the entry point of the function that runs them."""
