"""Rows of a program into a stream, each batch once.

Read it in this order: `rows` (bodies within the bounds of a request), `writers` and `locked_file` (the name under which
a program sends), `appending` (sent until they are stored).
"""
