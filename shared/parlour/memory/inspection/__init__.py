"""What an agent remembers, as a person looks at it: of whom, what, since when, from which words; a fact put right."""
