"""One connection of a client, in parts of one idea each; `app/protocol.py` puts them together."""
