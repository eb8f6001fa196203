"""Support vector machines that are trained on one kernel matrix and evaluated together."""
