"""A standing query as Spark SQL with the same answer.

Read it in this order:

- `expressions`: expressions, translated from the syntax of the text;
- `buckets`: time-band joins with additional equalities;
- `standing_query`: the whole query.
"""
