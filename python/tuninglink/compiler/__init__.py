"""The in-process compilation: phases, and passes run between them."""
