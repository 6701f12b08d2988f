"""Documents: text that is kept whole."""
