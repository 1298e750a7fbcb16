"""Payloads: a program for each entry that the entry matches."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.payloads.operations import (
        DYNAMIC as DYNAMIC,
        Propagation as Propagation,
        Value as Value,
        build as build,
        generic as generic,
        new_function as new_function,
    )
    from tuninglink.payloads.payload import (
        Payload as Payload,
        PayloadError as PayloadError,
        describe_fact as describe_fact,
        root_of as root_of,
    )
    from tuninglink.payloads.synthesis import (
        Configured as Configured,
        Draft as Draft,
        Synthesizer as Synthesizer,
        apply_alone as apply_alone,
        configuration as configuration,
        configured as configured,
        configures as configures,
        matches as matches,
        payload_for as payload_for,
        spec_of as spec_of,
        winners as winners,
    )
