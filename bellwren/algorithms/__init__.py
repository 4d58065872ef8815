"""The algorithms that need no code of the user: ``parameters`` says what a job document may ask of them."""
