"""Linear classifiers with an L2 penalty, with the logistic or the squared hinge loss."""
