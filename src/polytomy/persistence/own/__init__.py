"""polytomy's own model files."""
