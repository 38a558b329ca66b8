"""How many weights are zero at which step."""
