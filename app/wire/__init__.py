"""What travels: bodies to typed values and back. Nothing here reaches into the engine."""
