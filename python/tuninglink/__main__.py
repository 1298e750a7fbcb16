"""`python -m tuninglink`: the command `tuninglink` of this Python."""

from __future__ import annotations

from tuninglink.cli.main import main

if __name__ == "__main__":
    main()
