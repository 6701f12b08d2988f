"""Provider payloads in, replies out: envelopes, formats, sending."""
