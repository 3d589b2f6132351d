"""Ways in for bulk data: a client of the HTTP contract and what is built on it."""
