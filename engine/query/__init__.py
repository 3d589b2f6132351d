"""From query text to standing query clause, window and values."""
