"""No classes of hal's ops: their attributes are read by name, and loading the classes takes 30 ms."""
