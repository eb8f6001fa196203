"""Users' arguments and data, checked and converted once."""
