"""Questions about a finished forest: its clusters, replacements of edges, more edges, a check."""
