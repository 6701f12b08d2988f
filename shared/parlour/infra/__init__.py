"""The ground floor: everything that touches the world outside, and the words for what goes wrong with it."""
