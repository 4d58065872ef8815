"""``python -m bellwren`` is the command line too."""

from bellwren.cli import main

main()
