"""Text as text: sentences, words, numbers, dates, sensitive data, similarity, chunks. Pure."""
