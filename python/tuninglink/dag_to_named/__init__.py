"""Conversion of DAG matchers to contraction and convolution matchers."""

from tuninglink.dag_to_named.conversion import convert_dags
from tuninglink.dag_to_named.conversion_report import ConvertedEntry, ConvertedSpec

__all__ = ["ConvertedEntry", "ConvertedSpec", "convert_dags"]
