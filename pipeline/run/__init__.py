"""How a pipeline runs: tasks, partitions, schedulers, the report."""
