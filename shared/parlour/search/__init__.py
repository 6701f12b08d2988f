"""Finding the right words, and the numbers they are cited by."""
