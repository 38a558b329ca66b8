"""Sessions of noxfile.py that most changes do not need."""
