"""Facts: what is held to be so of a person, since when, and because of which words of theirs."""
