"""Examples that run; each is also a test."""
