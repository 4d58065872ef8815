"""What runs inside a worker: claims, runners, shuffle. Imports nothing that is slow to import."""
