"""What a finished forest answers: clusters at every threshold, HDBSCAN, replacement edges."""
