"""The learning loop: records that land in storage become the next model of their algorithm.

`news` reads the queue's messages, `collect` decides which algorithms to train, `state` keeps two ticks from training
one of them twice, `merging` reads its records, `quarantine` puts damaged ones aside, `registry` holds the models'
versions and moves the one in service, `calibration` says how well it did. The fitting itself is in ``training/``.
"""
