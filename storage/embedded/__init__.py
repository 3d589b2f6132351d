"""The server that psoup starts itself, and the folder in which its files lie.

Read it in this order:

- `folder`: the data folder, locked by one process at a time;
- `server`: the private server, found, started, taken over and stopped.
"""
