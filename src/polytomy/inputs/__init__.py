"""Arguments and data as users give them: checked and converted once."""
