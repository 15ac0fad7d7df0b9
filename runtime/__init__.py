"""What primitives and readers stand on: threads, memory, kept kernels, devices."""
