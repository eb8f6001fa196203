"""Linear classifiers of many problems, trained together."""

from polytomy.linear.shared_training import train_linear_models

__all__ = ["train_linear_models"]
