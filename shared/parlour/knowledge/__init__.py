"""Records, documents, and finding the right words in them."""
