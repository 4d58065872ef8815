"""Price lists, one dated file for each region."""
