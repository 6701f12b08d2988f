"""Background work: what is due, the runner of leased jobs, backoff, the sweep, batches, dead letters."""
