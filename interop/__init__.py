"""mstflow by the interfaces of other libraries."""
