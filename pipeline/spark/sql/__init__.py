"""A standing query as Spark SQL with the same answer.

Read it in this order:

- `terms`, `calls`: expressions of Spark SQL with their types; functions and casts;
- `expressions`: expressions, translated from the syntax of the text;
- `buckets`: time-band joins with additional equalities;
- `sources`: FROM, with its windows and joins, and WHERE;
- `standing_query`: the whole query, where it does no more than select;
- `left_joined`, `hits`: the rows that any other query groups, orders or limits.
"""
