"""Measurements of polytomy against its peers, with the answers compared."""
