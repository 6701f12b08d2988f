"""Business records: kinds, entities, the links between them."""
