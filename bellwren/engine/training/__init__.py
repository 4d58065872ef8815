"""A parameter server without a server: parameters lie in slices, one object each, that pushes replace.

A push reads a slice, adds to it and puts it back if nobody has meanwhile (compare-and-swap; lock-free, as Hogwild, Niu
et al. 2011, but nothing is lost). A slice says whose pushes are in, so none counts twice. ``storage`` runs in the
supervisor; ``parameters``, ``trainer``, ``values`` and ``slices`` in the runner.
"""
