"""A run beside published numbers, or beside another run: plain comparisons of its tables."""
