"""State modules: the Query SteM and the Data SteMs. Verbs: build, probe, evict."""
