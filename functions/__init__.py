"""Lambda handlers: thin, one module for each function."""
