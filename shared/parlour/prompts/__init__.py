"""Prompts: how they are assembled from their sources, and the ledger of those that were sent."""
