"""Runs a command with standard streams closed: `closed.py 0,1 COMMAND...`."""

import os
import sys

for number in sys.argv[1].split(","):
    os.close(int(number))
os.execvp(sys.argv[2], sys.argv[2:])
