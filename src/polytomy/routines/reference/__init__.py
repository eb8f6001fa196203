"""The routines in readable NumPy, with their formulas: the oracle of the compiled twins."""
