"""Payloads: a program for each entry that the entry matches."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.payloads.building import (
        DYNAMIC as DYNAMIC,
        Value as Value,
        added_product as added_product,
        attended as attended,
        bitcast as bitcast,
        build as build,
        cast as cast,
        clone_into as clone_into,
        computed as computed,
        constant as constant,
        filled as filled,
        new_function as new_function,
        with_maps as with_maps,
    )
    from tuninglink.payloads.candidates import generic as generic
    from tuninglink.payloads.payload import (
        Payload as Payload,
        PayloadError as PayloadError,
        root_of as root_of,
    )
    from tuninglink.payloads.synthesis import (
        Configured as Configured,
        Draft as Draft,
        Synthesizer as Synthesizer,
        apply_alone as apply_alone,
        configured as configured,
        matches as matches,
        payload_for as payload_for,
        spec_of as spec_of,
        winners as winners,
    )
    from tuninglink.payloads.templates import (
        Propagation as Propagation,
        describe_fact as describe_fact,
    )
