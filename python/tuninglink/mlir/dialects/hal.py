"""The hal dialect without classes of ops: attributes are read by name, and loading the classes takes 30 ms."""
