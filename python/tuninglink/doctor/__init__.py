"""The state of an installation, and checks of the compiler."""
