"""The commands of the command line: a module each, or a few that belong together.

A command is a few lines around a flow or a function of `tasks`. What takes long to
import is imported inside it, so that `--help` is quick.
"""
