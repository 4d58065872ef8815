"""Training of runtime models: PyTorch, evaluation, export. Never imported by `bellwren`."""
