"""The eddy: routes fresh data and fresh queries through the SteMs."""
