"""Support vector machines trained by sequential minimal optimisation."""
