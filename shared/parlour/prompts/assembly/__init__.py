"""Context assembly, pure: from candidates to the bytes of a prompt."""
