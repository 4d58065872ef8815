"""The control functions of a job: Prepare, Plan, Finish. Runs in Lambda, and in tests without it."""
