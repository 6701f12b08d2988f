"""What lasts of a long conversation that has fallen silent, written down by the better model."""
