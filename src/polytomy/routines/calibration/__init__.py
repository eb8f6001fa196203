"""Maximum likelihood estimation of the few parameters of calibrators."""
