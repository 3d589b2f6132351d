"""The client of a service, over its HTTP contract alone: what `import psoup` gives, and what commands and jobs use."""
