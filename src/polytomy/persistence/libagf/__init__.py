"""libAGF's control files and models."""
