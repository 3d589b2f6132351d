"""The ways in which times are written in files.

Read it in this order:

- `forms`: ISO 8601, and numbers counted from 1970;
- `formats`: formats as of strptime;
- `candidates`: which of these still fit a column.
"""
