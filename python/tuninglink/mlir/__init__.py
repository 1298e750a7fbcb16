"""Helpers over the bindings: walking, symbols and their uses, attributes, diagnostics, serialization."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.mlir.diagnostics import (
        LONGEST_LINE as LONGEST_LINE,
        Anchor as Anchor,
        DiagnosticSink as DiagnosticSink,
        Sources as Sources,
        callers as callers,
        code_of as code_of,
        collected_diagnostics as collected_diagnostics,
        error as error,
        first_error as first_error,
        from_mlir as from_mlir,
        note as note,
        once as once,
        place_of as place_of,
        print_diagnostic as print_diagnostic,
        quotes_operations as quotes_operations,
        read_source as read_source,
        render as render,
        show_lines_of as show_lines_of,
        thread_context as thread_context,
        wants_color as wants_color,
    )
    from tuninglink.mlir.names import DECOMPOSITION_CONFIG as DECOMPOSITION_CONFIG
    from tuninglink.mlir.passes import Pass as Pass, option as option
    from tuninglink.mlir.serialization import (
        QUOTE_OPERATIONS as QUOTE_OPERATIONS,
        decode as decode,
        is_bytecode as is_bytecode,
        is_undecodable as is_undecodable,
        may_repeat_matchers as may_repeat_matchers,
        parse_module as parse_module,
        repeated_matcher as repeated_matcher,
        to_bytecode as to_bytecode,
        to_text as to_text,
        without_byte_order_mark as without_byte_order_mark,
        without_weights as without_weights,
    )
    from tuninglink.mlir.symbol_uses import (
        FreshNames as FreshNames,
        SymbolRenaming as SymbolRenaming,
        body as body,
        children as children,
        collect as collect,
        constant_value as constant_value,
        defining_op as defining_op,
        entries_of as entries_of,
        integer_value as integer_value,
        integers_of as integers_of,
        is_dialect_attribute as is_dialect_attribute,
        join_path as join_path,
        named_parameters as named_parameters,
        parameters as parameters,
        parse_attribute as parse_attribute,
        postorder as postorder,
        reference as reference,
        references as references,
        references_in as references_in,
        rename_symbols as rename_symbols,
        split_path as split_path,
        symbol_name as symbol_name,
        symbols as symbols,
        value_range as value_range,
        visit as visit,
    )
