"""Class probabilities with the least Kullback-Leibler divergence."""
