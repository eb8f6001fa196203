"""Decision values of many kernel machines at once."""
