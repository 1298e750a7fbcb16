"""Specs: the model, loading, linking, embedding, dumping, verification, and the default library."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.iree import Target as Target, known_target_names as known_target_names
    from tuninglink.specs.applicability import (
        Applicability as Applicability,
        Selection as Selection,
        is_bound_for as is_bound_for,
        scopes_of as scopes_of,
    )
    from tuninglink.specs.default_library import (
        DefaultLibrary as DefaultLibrary,
        default_spec as default_spec,
        shipped as shipped,
    )
    from tuninglink.specs.embedding import (
        INDEX as INDEX,
        Dump as Dump,
        DumpedSpec as DumpedSpec,
        Use as Use,
        carried_spec as carried_spec,
        check_can_hold_specs as check_can_hold_specs,
        collect_specs as collect_specs,
        embedded_bytes as embedded_bytes,
        load_embedded_spec as load_embedded_spec,
        spec_attribute as spec_attribute,
    )
    from tuninglink.specs.linking import (
        LINKED_SPEC_NAME as LINKED_SPEC_NAME,
        LinkedSpec as LinkedSpec,
        LinkForm as LinkForm,
        Part as Part,
        choose_form as choose_form,
        link_nested_specs as link_nested_specs,
        link_nothing as link_nothing,
        link_parts as link_parts,
        link_specs as link_specs,
        split as split,
    )
    from tuninglink.specs.module_scan import (
        PREPROCESSING_FLAG as PREPROCESSING_FLAG,
        SequenceScope as SequenceScope,
        declares_a_write as declares_a_write,
        erase_unused as erase_unused,
        has_entry_point as has_entry_point,
        is_any_op as is_any_op,
        is_entry_point as is_entry_point,
        misspelt_markers as misspelt_markers,
        nested_specs as nested_specs,
        only_reads as only_reads,
        preprocessing_entry_points as preprocessing_entry_points,
        scopes as scopes,
        signature as signature,
        unused_sequences as unused_sequences,
    )
    from tuninglink.specs.project import (
        LOCK_FILE as LOCK_FILE,
        OWN_FILE as OWN_FILE,
        Project as Project,
    )
    from tuninglink.specs.remote import (
        CACHE_VARIABLE as CACHE_VARIABLE,
        LIMIT_VARIABLE as LIMIT_VARIABLE,
        SPEC_FOLDERS as SPEC_FOLDERS,
        cache_directory as cache_directory,
    )
    from tuninglink.specs.revision import (
        CONFIGURATIONS as CONFIGURATIONS,
        DERIVED as DERIVED,
        FLAGS as FLAGS,
        IN_ONE as IN_ONE,
        PROVENANCE as PROVENANCE,
        Revision as Revision,
        Subsets as Subsets,
        alone as alone,
        configured_arguments as configured_arguments,
        entry_without_effect as entry_without_effect,
        hidden_failure as hidden_failure,
        origin_of as origin_of,
        provenance_attribute as provenance_attribute,
        provenance_of as provenance_of,
        reason_without_effect as reason_without_effect,
        rewriting_words as rewriting_words,
        settings_of as settings_of,
        unrolled_loops as unrolled_loops,
    )
    from tuninglink.specs.sequences import (
        FAILURES_PROPAGATE as FAILURES_PROPAGATE,
        FAILURES_SUPPRESS as FAILURES_SUPPRESS,
        Annotation as Annotation,
        Handle as Handle,
        Pair as Pair,
        SequenceTable as SequenceTable,
        add_kernel_config as add_kernel_config,
        add_list as add_list,
        annotate as annotate,
        any_op as any_op,
        argument_attributes as argument_attributes,
        change_signature as change_signature,
        consumes_argument as consumes_argument,
        create as create,
        include as include,
        named_pair_attributes as named_pair_attributes,
        named_sequence as named_sequence,
        pair_attributes as pair_attributes,
        pairs_of as pairs_of,
        set_pairs as set_pairs,
        yield_ as yield_,
    )
    from tuninglink.specs.sources import (
        LIBRARY as LIBRARY,
        SpecFile as SpecFile,
        SpecFiles as SpecFiles,
        SpecSource as SpecSource,
        automatic_positions as automatic_positions,
        library_files as library_files,
        library_names as library_names,
        load_specs as load_specs,
        plug_ins as plug_ins,
        read_specs as read_specs,
        shipped_libraries as shipped_libraries,
        spec_names as spec_names,
    )
    from tuninglink.specs.spec import (
        BINDING as BINDING,
        PREPROCESSING_SPEC as PREPROCESSING_SPEC,
        Binding as Binding,
        Spec as Spec,
        bind as bind,
        binding_of as binding_of,
        check_bindings as check_bindings,
        check_is_program as check_is_program,
        covers as covers,
        entry_binding as entry_binding,
        in_context as in_context,
        is_like as is_like,
        is_only_a_spec as is_only_a_spec,
        load_spec as load_spec,
        narrow as narrow,
        preprocessing_spec as preprocessing_spec,
        read_source as read_source,
        specs_in as specs_in,
    )
    from tuninglink.specs.structure import (
        Anatomy as Anatomy,
        Entry as Entry,
        EntryPoint as EntryPoint,
        SpecKind as SpecKind,
        is_guarded as is_guarded,
        signature_problem as signature_problem,
    )
