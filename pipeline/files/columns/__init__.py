"""One column of a file: the kind of its values, how they are read, and arrays of them.

Read it in this order:

- `readings`: how the values of a column are read;
- `counted_times`: times that are written as numbers;
- `kinds`, `text_kinds`: the type that holds every value, and the kinds of texts;
- `markers`: words for NULL, such as NA;
- `decisions`: how a column is read, given its survey;
- `casting`: text to arrays of the five types;
- `joined_time`: a time column joined from several columns;
- `hints`: the type to ask for if a value does not fit.
"""
