"""Programs that introductions to PyTorch show; ``test_introductions.py`` runs them."""
