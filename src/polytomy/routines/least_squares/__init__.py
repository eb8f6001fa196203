"""Class probabilities by least squares: the p on the simplex with the least |Ap − r|².

`polytomy.solvers.least_squares` chooses the algorithm by the structure of the code. Every routine
is in `reference` (NumPy) and in `compiled` (Numba), in files with the same name::

    algorithm     routine               file           method
    product       multiply_down_tree    shortcuts.py   products down a tree
    isotonic      regress_isotonic      shortcuts.py   isotonic regression
    projection    project_answers       shortcuts.py   projection onto the simplex
    pairwise      couple_pairs          systems.py     a linear system per sample, or active set
    active-set    minimise_on_simplex   systems.py     active set

The active set of Lawson and Hanson (1974) is `minimise_on_cone` in `reference/cone.py`, and
`_search_active_set` in `compiled/cone.py`. The compiled twin tries block pivoting first: for many
samples side by side in `compiled/lanes.py`, for one sample in `compiled/cone.py`. If there are
several minimisers, `compiled/single.py` finds the one with the least norm, using the steps in
`compiled/face.py`. If there are more classes than rows, `compiled/working_set.py` searches few
classes at a time.
"""
