"""The model of a spec: read from IR, written to IR, loaded, linked and saved; targets and the default library."""
