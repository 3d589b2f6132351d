"""A standing query as Spark SQL with the same answer.

Read it in this order:

- `expressions`: expressions, from the syntax of the text;
- `buckets`: joins by a band of time as equalities besides;
- `standing_query`: the whole query.
"""
