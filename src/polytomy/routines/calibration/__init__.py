"""Maximum likelihood of the few parameters that calibrators have."""
