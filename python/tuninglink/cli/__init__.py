"""The commands, which turn arguments into exit codes and rendered output."""
