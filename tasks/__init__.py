"""What is done: Prefect tasks in the files, plain machinery in the folders.

Folders hold functions and frozen dataclasses without Prefect, command line or
global state; they run and are tested without a server.
"""
