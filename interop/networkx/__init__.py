"""The networkx backend: its functions, the conversion of graphs, and the kernels that read them."""
