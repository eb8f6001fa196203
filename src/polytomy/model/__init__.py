"""The fitted model: how a scheme is trained, what it answers, what is decided from that."""
