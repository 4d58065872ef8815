"""Inputs: which objects a job reads, how they are cut into chunks, and how a chunk becomes records.

Four steps, kept apart because they run in different places:

- ``listing`` and ``cutting`` are pure rules; ``planning`` applies them with the few reads they need (control function);
- ``fetch`` gets exactly the bytes of one chunk's records (the worker's supervisor, asyncio);
- ``records`` turns those bytes into records and does no input or output of its own (the runner process).

Nothing here imports boto3, obstore, numpy or pydantic; pyarrow and zstandard only where such data is read.
"""
