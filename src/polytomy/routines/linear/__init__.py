"""Linear classifiers with an L2 penalty: logistic regression and the squared hinge loss."""
