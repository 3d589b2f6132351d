"""Calls of a service and what carries them out: a call yields requests and does no I/O, a connection sends them.

Read it in this order:

- `address`: the URL and the token of a service;
- `messages`, `retrying`: a request and its answer, operations and what is repeated of them, all without I/O;
- `operations`, `registrations`: the calls that every kind of client makes;
- `transport`, `connection`, `async_connection`: what carries operations out.
"""
