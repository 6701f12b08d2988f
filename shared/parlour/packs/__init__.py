"""Packs: a tenant's configuration and knowledge as a folder of files, checked, applied and given back."""
