"""Class probabilities with the least Kullback-Leibler divergence for one-vs-rest codes."""
