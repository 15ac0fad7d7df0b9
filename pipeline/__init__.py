"""In what order and where the steps run: pipelines, schedulers, partitions, merge."""
