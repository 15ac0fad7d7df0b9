"""The array module for NVIDIA GPUs: CuPy's arrays and kernels in CUDA C++."""
