"""Class probabilities by least squares."""
