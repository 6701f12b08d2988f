"""Old messages, moved from the database to object storage; their searchable rows stay."""
