"""The networkx backend: its functions, and the conversion of graphs."""
