"""The passes of Tuninglink, one a file, each named after its pass."""
