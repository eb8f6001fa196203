"""How routines run: how they are compiled, which twin is used, and threads."""
