"""Our runtime model: a Gaussian process on log-runtime that knows magnitudes, contexts, repeats and memory cliffs."""
