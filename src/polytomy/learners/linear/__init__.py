"""Linear classifiers that are trained and evaluated together."""
