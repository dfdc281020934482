"""`python -m mlxcel_lab.cli`: the console script where it isn't on the PATH."""

from . import main

main()
