"""Distributions of integers and categories, and their relaxations."""
