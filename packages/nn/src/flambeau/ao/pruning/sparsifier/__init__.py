"""What decides which weights are zero."""
