"""Configuration as YAML: validated, applied, exported."""
