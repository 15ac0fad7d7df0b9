"""Where tasks run: in the calling thread, in Dask's local schedulers, or on a cluster."""
