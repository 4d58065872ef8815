"""What the client knows of learning: the records of a deployment, and its models."""
