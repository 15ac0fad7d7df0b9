"""The executor, its tasks, partitions and schedulers."""
