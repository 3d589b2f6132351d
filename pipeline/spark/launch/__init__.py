"""How a job gets its options, starts, reports progress and ends.

Read it in this order:

- `requests`: the options of each job;
- `arguments`: the fields of a request as options of a command;
- `job_run`: a running job, its progress and its end;
- `checkpoints`: a job's decision beside Spark's checkpoint, and the position in it;
- `spark_submit`: a job as a program of its own.
"""
