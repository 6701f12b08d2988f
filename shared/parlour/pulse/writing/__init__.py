"""Pulses written: read, compared with what there is, asked of a model only where something is different, and kept."""
