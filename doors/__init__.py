"""How graphs come in and go out: files, URLs, names of vertices, objects of other libraries."""
