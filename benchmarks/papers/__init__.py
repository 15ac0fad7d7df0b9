"""Measurements that papers describe, except for comparisons of codes on graphs."""
