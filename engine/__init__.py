"""The query-data join: a deterministic fold over the log. No web, no store, no clock, no chance."""
