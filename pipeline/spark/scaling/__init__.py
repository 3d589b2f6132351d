"""Matching carried by Spark executors, for an engine that stays the one it is."""
