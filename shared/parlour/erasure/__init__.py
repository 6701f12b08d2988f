"""Having something forgotten: what was made of it, where that lies, and what becomes of it."""
