"""Jobs: read, transform, write. Each is a command of `psoup pipeline` and can be given to spark-submit."""
