"""Training the support vector machines of many problems on one shared matrix."""

from polytomy.svm.memory import check_budget, default_memory_budget
from polytomy.svm.shared_training import SharedTraining, train_on_shared_kernel

__all__ = ["SharedTraining", "check_budget", "default_memory_budget", "train_on_shared_kernel"]
