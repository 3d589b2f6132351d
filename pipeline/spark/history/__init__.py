"""Answers that reach past memory, computed by Spark from an archive and what the service's log still has."""
