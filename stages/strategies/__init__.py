"""The stages of strategies. They read a graph by the methods of objects that are fields."""
