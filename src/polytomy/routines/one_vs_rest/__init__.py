"""Class probabilities of least Kullback-Leibler divergence for one-vs-rest codes."""
