"""Support vector machines of many problems, trained on one matrix that all of them share."""

from polytomy.svm.memory import check_budget, default_memory_budget
from polytomy.svm.shared_training import SharedTraining, train_on_shared_kernel

__all__ = ["SharedTraining", "check_budget", "default_memory_budget", "train_on_shared_kernel"]
