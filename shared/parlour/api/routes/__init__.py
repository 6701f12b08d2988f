"""The endpoints, one module per topic; each translates a request into one call of a room and back."""
