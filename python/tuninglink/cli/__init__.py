"""The commands: arguments in, exit codes and rendered output out."""
