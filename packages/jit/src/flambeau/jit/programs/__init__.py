"""Programs: a graph with weights and state, and their files."""
