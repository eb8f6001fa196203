"""What the compiled routines run on: compiling, choosing a twin, threads."""
