"""Servers on loopback that stand in for those of the internet, and fail on command."""
