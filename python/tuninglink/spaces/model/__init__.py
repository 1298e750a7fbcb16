"""The types of spaces: workloads, knobs, constraint sets, configurations and their templates, and providers."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.spaces.model.configuration import (
        ArraySlot as ArraySlot,
        Configuration as Configuration,
        ConstantSlot as ConstantSlot,
        DictionarySlot as DictionarySlot,
        ImpliedSlot as ImpliedSlot,
        IntegerSlot as IntegerSlot,
        KnobTemplate as KnobTemplate,
        MismatchError as MismatchError,
        MissingEntryError as MissingEntryError,
        NearMismatchError as NearMismatchError,
        OptionSlot as OptionSlot,
        Provider as Provider,
        Slot as Slot,
        Space as Space,
        StrayTileError as StrayTileError,
        UncompilableError as UncompilableError,
        WorkgroupSlot as WorkgroupSlot,
        cached_reading as cached_reading,
        configuration_from as configuration_from,
        dictionary_of as dictionary_of,
        integer as integer,
        option_slots as option_slots,
        promotion_types as promotion_types,
        read_configuration as read_configuration,
        template_slot as template_slot,
        zero_knobs as zero_knobs,
    )
    from tuninglink.spaces.model.constraint_set import (
        ConstraintSet as ConstraintSet,
        ConstraintSetBuilder as ConstraintSetBuilder,
        FixedKnob as FixedKnob,
        IntegerKnob as IntegerKnob,
        Knob as Knob,
        OneOfKnob as OneOfKnob,
    )
    from tuninglink.spaces.model.workload import (
        Dimension as Dimension,
        Problem as Problem,
        Workload as Workload,
        read_workload as read_workload,
        target_around as target_around,
    )
