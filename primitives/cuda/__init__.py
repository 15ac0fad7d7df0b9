"""The array module for NVIDIA GPUs: CuPy arrays and kernels in CUDA C++."""
