"""LIBSVM's model and range files."""
