"""One column of a file: what its values look like, how it is read, and its values as arrays.

Read it in this order:

- `readings`: how the values of a column are read;
- `kinds`, `text_kinds`: which type holds every value, and what texts look like;
- `markers`: words for nothing, such as NA;
- `decisions`: from what a column showed to how it is read;
- `casting`: text to arrays of the five types;
- `joined_time`: a time column joined from several;
- `hints`: the type to ask for where a value does not fit.
"""
