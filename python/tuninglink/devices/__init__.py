"""Devices: the processes that hold them, measurement in these processes, and the times of benchmarks, as data."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.devices.board import (
        BoardDevice as BoardDevice,
    )
    from tuninglink.devices.board_checks import (
        BoardCheck as BoardCheck,
        board_checks as board_checks,
    )
    from tuninglink.devices.board_script import BoardScript as BoardScript
    from tuninglink.devices.board_uri import (
        BOARD as BOARD,
        BoardOptions as BoardOptions,
        BoardUri as BoardUri,
        is_board as is_board,
    )
    from tuninglink.devices.cluster import (
        Cluster as Cluster,
        ClusterDevices as ClusterDevices,
        ClusterPool as ClusterPool,
    )
    from tuninglink.devices.cuda_code import (
        ptx_modules as ptx_modules,
    )
    from tuninglink.devices.device import (
        COMPILING_DRIVERS as COMPILING_DRIVERS,
        LOCAL_DRIVERS as LOCAL_DRIVERS,
        SYNCHRONOUS_DRIVER as SYNCHRONOUS_DRIVER,
        THREADED_DRIVER as THREADED_DRIVER,
        DeviceDescription as DeviceDescription,
        DeviceError as DeviceError,
        Sensors as Sensors,
        backend_of as backend_of,
        board_driver as board_driver,
        compute_units as compute_units,
        default_device as default_device,
        describe as describe,
        devices_of as devices_of,
        driver_of as driver_of,
        known_compute_units as known_compute_units,
        open_device as open_device,
        physical_cores as physical_cores,
        sensors_of as sensors_of,
        shared_cache_bytes as shared_cache_bytes,
    )
    from tuninglink.devices.device_set import (
        REPEATS as REPEATS,
        AheadLoader as AheadLoader,
        Answer as Answer,
        BestTime as BestTime,
        Device as Device,
        DeviceProcess as DeviceProcess,
        DeviceSet as DeviceSet,
        Measurement as Measurement,
        Request as Request,
        scale_of as scale_of,
        screen as screen,
    )
    from tuninglink.devices.measurement import (
        FEWEST_ROUNDS as FEWEST_ROUNDS,
        SAMPLE_SECONDS as SAMPLE_SECONDS,
        DispatchTrace as DispatchTrace,
        Measurer as Measurer,
        TracedTensor as TracedTensor,
        repetition as repetition,
        weighted_mean as weighted_mean,
    )
    from tuninglink.devices.numerics import (
        Bytes as Bytes,
        Expected as Expected,
        Outputs as Outputs,
        Pattern as Pattern,
        buffer_length as buffer_length,
        compare as compare,
        compare_with as compare_with,
        difference as difference,
        elements as elements,
        find_violation as find_violation,
        initial_bytes as initial_bytes,
        outputs_of as outputs_of,
        patterns as patterns,
        tolerance as tolerance,
    )
    from tuninglink.devices.opening import (
        Devices as Devices,
        OpenedDevice as OpenedDevice,
        check_devices as check_devices,
        foreign_family as foreign_family,
        opened_device as opened_device,
    )
    from tuninglink.devices.processor_peaks import (
        PEAK_SECONDS as PEAK_SECONDS,
        ProcessorPeaks as ProcessorPeaks,
        peaks_of_processor as peaks_of_processor,
        stored_peaks as stored_peaks,
    )
    from tuninglink.devices.running import (
        CallOutputs as CallOutputs,
        Loader as Loader,
        MeasurementError as MeasurementError,
        files_in as files_in,
        input_bytes as input_bytes,
        parameter_indexes as parameter_indexes,
        place_inputs as place_inputs,
        program_arguments as program_arguments,
        to_device as to_device,
        to_host as to_host,
    )
    from tuninglink.devices.times import (
        PROTOCOL_VERSION as PROTOCOL_VERSION,
        Caches as Caches,
        Conditions as Conditions,
        DeviceReading as DeviceReading,
        ReadingRange as ReadingRange,
        Rounds as Rounds,
        Settings as Settings,
        Stage as Stage,
        Timeline as Timeline,
        Timing as Timing,
        UsedTime as UsedTime,
        duration as duration,
    )
