"""The formats of times in files.

Read it in this order:

- `forms`: ISO 8601, and numbers counted from 1970;
- `formats`: strptime formats;
- `candidates`: the formats that fit all values of a column;
- `advice`: the option to pass for a value that is no time as it is read.
"""
