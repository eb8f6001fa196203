"""The Markov chain of Wu, Lin and Weng's first method."""
