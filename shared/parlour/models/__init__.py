"""One way to ask any model; what a call costs."""
