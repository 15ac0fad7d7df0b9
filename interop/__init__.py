"""mstflow with the interfaces of other libraries."""
