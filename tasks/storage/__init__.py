"""Bytes at rest: reading ranges, writing atomically, remembering finished units."""
