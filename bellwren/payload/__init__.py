"""How a function, its items, its results and its exceptions travel between the client and the workers.

Client: `pack` (functions), `items` (items), `outcome.rebuild` (failures). Worker: `unpack` and `outcome`.
"""
