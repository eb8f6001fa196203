"""Compute class probabilities or scores from the answers of binary classifiers.

===================== ============= ==============================================================
method                needs         result
===================== ============= ==============================================================
``least-squares``     any code      the probabilities that fit the answers best, by least squares
``divergence``        any code      the probabilities with the least Kullback-Leibler divergence
``hastie-tibshirani`` one-vs-one    the same for pairs
``wu-lin-weng-1``     one-vs-one    the stationary distribution of a Markov chain over the classes
``price``             one-vs-one    probabilities by a closed formula for each class
``libsvm``            one-vs-one    the probabilities of LIBSVM's ``svm-predict -b 1``
``voting``            any code      scores: sums of decision values
``hamming``           any code      scores: answers for a class minus answers against it
``loss-based``        any code      scores: the negative sum of a class's losses
``loss-weighted``     any code      scores: the negative mean of a class's losses
``greedy``            tree          a score for the class at the end of the greedy walk, else zero
===================== ============= ==============================================================

`solve` returns probabilities, by a method that gives them; `decode` returns the scores of any
method; `check_applicable` tests whether a method can solve a code or a scheme. METHODS describes
the methods and LOSSES has the losses of ``loss-based`` and ``loss-weighted``, both by name.
`register` adds a `Method` of your own, which may need one of the structures ONE_VS_ONE and TREE.
"""

from polytomy.solvers.decoding import LOSSES
from polytomy.solvers.method import ANY_CODE, ONE_VS_ONE, TREE, Method, Structure
from polytomy.solvers.solving import METHODS, check_applicable, decode, register, solve

__all__ = [
    "ANY_CODE",
    "LOSSES",
    "METHODS",
    "ONE_VS_ONE",
    "TREE",
    "Method",
    "Structure",
    "check_applicable",
    "decode",
    "register",
    "solve",
]
