"""The stages of pipelines with other results than a forest."""
