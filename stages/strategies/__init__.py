"""The stages of strategies; they call the source and the scanner, which are fields."""
