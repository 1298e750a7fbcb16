"""Problems given without a program: as words, or as lines of other tools' commands and logs."""
