"""What an installation consists of, and whether the compiler does what Tuninglink rests on."""
