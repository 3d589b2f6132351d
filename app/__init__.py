"""The service: HTTP in front, the command line, and the only wiring of stores to the engine."""
