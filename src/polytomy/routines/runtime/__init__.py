"""How routines are run: compilation, the choice between twins, and threads."""
