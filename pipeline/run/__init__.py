"""How a pipeline runs: the executor, its tasks, partitions and schedulers."""
