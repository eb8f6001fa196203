"""Class probabilities of least Kullback-Leibler divergence."""
