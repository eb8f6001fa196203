"""Support vector machines of many problems, trained on one matrix that all of them share."""

from polytomy.binary.shared.memory import check_budget, default_memory_budget
from polytomy.binary.shared.training import SharedTraining, train_on_shared_kernel

__all__ = ["SharedTraining", "check_budget", "default_memory_budget", "train_on_shared_kernel"]
