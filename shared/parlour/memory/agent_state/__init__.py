"""The notes that an agent keeps on one conversation: what it has understood, assumes and expects, and what is open."""
