"""`tuninglink-opt`: pass registry, textual pipelines, drop-in flags."""
