"""The page that explains a job: one HTML file that needs no network, written by Finish."""
