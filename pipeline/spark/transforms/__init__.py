"""DataFrame -> DataFrame: what the jobs do to rows. No UDFs; each ends in a select that states its columns."""
