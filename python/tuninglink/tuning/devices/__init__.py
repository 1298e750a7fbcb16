"""Devices: the processes that hold them, measurement in these processes, and the times of benchmarks, as data."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.devices.cluster import (
        Cluster as Cluster,
        ClusterDevices as ClusterDevices,
    )
    from tuninglink.tuning.devices.device import (
        COMPILING_DRIVERS as COMPILING_DRIVERS,
        COMPUTE_UNITS as COMPUTE_UNITS,
        LOCAL_DRIVERS as LOCAL_DRIVERS,
        SYNCHRONOUS_DRIVER as SYNCHRONOUS_DRIVER,
        THREADED_DRIVER as THREADED_DRIVER,
        TYPICAL as TYPICAL,
        DeviceDescription as DeviceDescription,
        DeviceError as DeviceError,
        check_devices as check_devices,
        compute_units as compute_units,
        describe as describe,
        devices_of as devices_of,
        driver_of as driver_of,
        known_compute_units as known_compute_units,
        last_level_bytes as last_level_bytes,
        open_device as open_device,
        physical_cores as physical_cores,
        runtime_uri as runtime_uri,
        shared_cache_bytes as shared_cache_bytes,
    )
    from tuninglink.tuning.devices.device_process import (
        Answer as Answer,
        Device as Device,
        DeviceProcess as DeviceProcess,
        Request as Request,
    )
    from tuninglink.tuning.devices.device_set import (
        REPEATS as REPEATS,
        AheadLoader as AheadLoader,
        BestTime as BestTime,
        DefaultTimes as DefaultTimes,
        Devices as Devices,
        DeviceSet as DeviceSet,
        Feed as Feed,
        Job as Job,
        Measurement as Measurement,
        backend_of as backend_of,
        check_named_devices as check_named_devices,
        default_device as default_device,
        may_run as may_run,
        screen as screen,
    )
    from tuninglink.tuning.devices.loading import (
        FEWEST_ROUNDS as FEWEST_ROUNDS,
        CallOutputs as CallOutputs,
        input_bytes as input_bytes,
        parameter_indexes as parameter_indexes,
        repetition as repetition,
        weighted_mean as weighted_mean,
    )
    from tuninglink.tuning.devices.measurement import (
        AmdSensors as AmdSensors,
        EnergyCounter as EnergyCounter,
        Measurer as Measurer,
        ProcessorSensors as ProcessorSensors,
        amd_cards as amd_cards,
        sensors_of as sensors_of,
    )
    from tuninglink.tuning.devices.numerics import (
        Bytes as Bytes,
        Expected as Expected,
        OutOfBoundsWrite as OutOfBoundsWrite,
        Outputs as Outputs,
        Pattern as Pattern,
        buffer_length as buffer_length,
        compare as compare,
        compare_with as compare_with,
        difference as difference,
        elements as elements,
        find_violation as find_violation,
        make_inputs as make_inputs,
        outputs_of as outputs_of,
        patterns as patterns,
        perturbed_patterns as perturbed_patterns,
        tolerance as tolerance,
    )
    from tuninglink.tuning.devices.running import (
        DispatchTrace as DispatchTrace,
        LoadedBenchmark as LoadedBenchmark,
        Loader as Loader,
        MeasurementError as MeasurementError,
        Overhead as Overhead,
        TracedTensor as TracedTensor,
        to_device as to_device,
        to_host as to_host,
    )
    from tuninglink.tuning.devices.times import (
        PROTOCOL_VERSION as PROTOCOL_VERSION,
        Caches as Caches,
        Conditions as Conditions,
        DeviceReading as DeviceReading,
        DeviceUse as DeviceUse,
        ReadingRange as ReadingRange,
        Rounds as Rounds,
        Settings as Settings,
        Stage as Stage,
        StageTime as StageTime,
        Timeline as Timeline,
        Timing as Timing,
        duration as duration,
    )
