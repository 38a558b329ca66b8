"""What stages have in common: columns of samples, files, decoders."""
