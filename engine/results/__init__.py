"""The Results Structure: which tuples satisfied which clause, and its contract."""
