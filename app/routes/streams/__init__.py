"""Streams: declared, listed, described, dropped, and declared otherwise.

Reading order: `streams` (declare, list, drop), `stream_changes` (declared otherwise while they hold rows),
`stream_names` (what was meant by a name that is not declared).
"""
