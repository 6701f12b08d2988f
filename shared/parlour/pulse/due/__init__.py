"""Which Pulses are to be written anew, when, in which order and for how much."""
