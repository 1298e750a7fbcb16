"""Conversion of DAG matchers to contraction and convolution matchers."""

from tuninglink.dag_to_named.conversion import ConvertedEntry, ConvertedSpec, convert_dags

__all__ = ["ConvertedEntry", "ConvertedSpec", "convert_dags"]
