"""What a run did: records, tables and pictures."""
