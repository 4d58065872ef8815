"""Bellamy (Scheinert et al. 2021), whole, in PyTorch; many models are trained side by side in one stack."""
