"""Indexing, gathering, scattering, embeddings."""
