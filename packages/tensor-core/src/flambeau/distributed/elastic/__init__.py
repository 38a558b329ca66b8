"""What programs started by the launcher import."""
