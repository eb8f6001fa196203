"""Joint training of the linear classifiers of many problems."""

from polytomy.linear.shared_training import train_linear_models

__all__ = ["train_linear_models"]
