"""The only place where adapters are built: one module per function, so that each imports only what it runs on."""
