"""A parameter server without a server: parameters are the sum of a log of updates in storage.

Each push is one object of the log, created once at the first free place (lock-free, as in Hogwild, Niu et al. 2011).
The log has one order, the same for everyone, so no update is lost, none counts twice, and all see the same parameters
at the same length of the log. ``ledger`` runs in the supervisor, ``trainer`` and ``values`` in the runner.
"""
