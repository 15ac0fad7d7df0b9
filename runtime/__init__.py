"""The base of primitives and readers: threads, a memory pool, the kernel cache, and devices."""
