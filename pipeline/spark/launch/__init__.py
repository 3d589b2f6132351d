"""How a job is asked for, started and followed.

Read it in this order:

- `requests`: the options of each job;
- `arguments`: a request's fields as options of a command;
- `job_run`: a streaming query at work, its progress and its end;
- `checkpoints`: what a job keeps beside Spark's checkpoint, and what Spark keeps there;
- `spark_submit`: a job as a program of its own.
"""
