"""Tables of SKUs, architectures and families.

Source: the architecture, SKU and compute units that `iree-compile` 3.13 writes into the executable target for each name
passed with `--iree-rocm-target`, `--iree-cuda-target` or `--iree-vulkan-target`. The compiler lists the names of CPUs
in its error for an invalid `--iree-llvmcpu-target-cpu`. `test/compiler/test_targets.py` repeats these queries. Families
follow the vendors' names of generations, as used in the compiler.
"""

from __future__ import annotations

from typing import Final

ROCM: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "cdna1": {"gfx908": ("mi100",)},
    "cdna2": {"gfx90a": ("mi210", "mi250", "mi250x")},
    "cdna3": {"gfx942": ("mi300a", "mi300x", "mi308x", "mi325x")},
    "cdna4": {"gfx950": ("mi350x", "mi355x")},
    "cdna5": {"gfx1250": ("mi455x",)},
    "rdna1": {},
    "rdna2": {},
    "rdna3": {
        "gfx1100": ("rx7900xt", "rx7900xtx", "w7800", "w7900"),
        "gfx1101": ("rx7700xt", "rx7800xt", "v710", "w7700"),
        "gfx1103": ("phoenix",),
        "gfx1150": ("strix-point",),
        "gfx1151": ("strix-halo",),
    },
    "rdna4": {
        "gfx1200": ("rx9060xt",),
        "gfx1201": ("r9700", "rx9070", "rx9070xt"),
    },
}
"""AMD's GPUs: family, architecture, SKUs."""

CUDA: Final[dict[str, dict[str, dict[str, int]]]] = {
    "pascal": {"sm_60": {}, "sm_61": {}, "sm_62": {}},
    "volta": {"sm_70": {}, "sm_72": {}},
    "turing": {"sm_75": {}},
    "ampere": {
        "sm_80": {"a100": 108},
        "sm_86": {
            "rtx3070": 46,
            "rtx3070ti": 48,
            "rtx3080": 68,
            "rtx3080ti": 80,
            "rtx3090": 82,
            "rtx3090ti": 84,
        },
        "sm_87": {},
    },
    "ada": {"sm_89": {"rtx4060": 24, "rtx4070": 46, "rtx4080": 76, "rtx4090": 128}},
    "hopper": {"sm_90": {}},
    "blackwell": {"sm_100": {}, "sm_120": {}, "sm_121": {}},
}
"""NVIDIA's GPUs: family, architecture, SKUs with their compute units.

The compiler does not write SKUs into a cuda target, only their number of compute units, which is unique within an
architecture.
"""

CUDA_PRODUCTS: Final[dict[str, str]] = {
    "v100": "sm_70",
    "t4": "sm_75",
    "a30": "sm_80",
    "a10": "sm_86",
    "a40": "sm_86",
    "l4": "sm_89",
    "l40": "sm_89",
    "l40s": "sm_89",
    "h100": "sm_90",
    "h200": "sm_90",
    "b200": "sm_100",
    **dict.fromkeys(("rtx5060", "rtx5060ti", "rtx5070", "rtx5070ti"), "sm_120"),
    **dict.fromkeys(("rtx5080", "rtx5090", "rtx-pro-6000"), "sm_120"),
    "gb10": "sm_121",
}
"""SKUs that `--iree-cuda-target` rejects, from NVIDIA's list of compute capabilities."""

VULKAN: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "adreno": {"adreno": ()},
    "arm5gen": {"arm5gen": ("mali-g1", "mali-g720")},
    "valhall": {
        "valhall1": ("mali-g57", "mali-g77"),
        "valhall2": ("mali-g78",),
        "valhall3": ("mali-g310", "mali-g510", "mali-g710"),
        "valhall4": ("mali-g615", "mali-g715"),
    },
}
"""GPUs that only the vulkan backend compiles for: family, architecture, SKUs."""

CODE_NAMES: Final[dict[str, str]] = {
    "cdna1": "gfx908",
    "cdna2": "gfx90a",
    "cdna3": "gfx942",
    "cdna4": "gfx950",
    "cdna5": "gfx1250",
    "pascal": "sm_60",
    "volta": "sm_70",
    "turing": "sm_75",
    "ampere": "sm_80",
    "ada": "sm_89",
    "hopper": "sm_90",
    "valhall": "valhall1",
}
"""The architecture of a family: the one that the compiler chooses for the family, or the family's
only one where the compiler rejects its name (cdna3, cdna4, hopper)."""

CPUS: Final[dict[str, str]] = {
    "x86_64": """
        alderlake amdfam10 arrowlake arrowlake-s athlon-fx athlon64 athlon64-sse3 atom barcelona bdver1
        bdver2 bdver3 bdver4 bonnell broadwell btver1 btver2 c86-4g-m4 c86-4g-m6 c86-4g-m7 c86-4g-m8
        cannonlake cascadelake clearwaterforest cooperlake core-avx-i core-avx2 core2 corei7 corei7-avx
        diamondrapids emeraldrapids goldmont goldmont-plus gracemont grandridge graniterapids
        graniterapids-d haswell icelake-client icelake-server ivybridge k8 k8-sse3 knl knm lunarlake
        meteorlake nehalem nocona novalake opteron opteron-sse3 pantherlake penryn raptorlake rocketlake
        sandybridge sapphirerapids sierraforest silvermont skx skylake skylake-avx512 slm tigerlake
        tremont westmere wildcatlake x86-64 x86-64-v2 x86-64-v3 x86-64-v4 znver1 znver2 znver3 znver4
        znver5 znver6
    """,
    "aarch64": """
        a64fx ampere1 ampere1a ampere1b ampere1c apple-a10 apple-a11 apple-a12 apple-a13 apple-a14
        apple-a15 apple-a16 apple-a17 apple-a18 apple-a19 apple-a7 apple-a8 apple-a9 apple-m1 apple-m2
        apple-m3 apple-m4 apple-m5 apple-s10 apple-s4 apple-s5 apple-s6 apple-s7 apple-s8 apple-s9
        armagicpu c1-nano c1-premium c1-pro c1-ultra c2-pro c2-ultra carmel cobalt-100 cortex-a320
        cortex-a34 cortex-a35 cortex-a510 cortex-a520 cortex-a520ae cortex-a53 cortex-a55 cortex-a57
        cortex-a65 cortex-a65ae cortex-a710 cortex-a715 cortex-a72 cortex-a720 cortex-a720ae cortex-a725
        cortex-a73 cortex-a75 cortex-a76 cortex-a76ae cortex-a77 cortex-a78 cortex-a78ae cortex-a78c
        cortex-r82 cortex-r82ae cortex-x1 cortex-x1c cortex-x2 cortex-x3 cortex-x4 cortex-x925 cyclone
        exynos-m3 exynos-m4 exynos-m5 falkor fujitsu-monaka gb10 grace hip12 kryo neoverse-512tvb
        neoverse-e1 neoverse-n1 neoverse-n2 neoverse-n3 neoverse-v1 neoverse-v2 neoverse-v3
        neoverse-v3ae olympus oryon-1 rigel saphira thunderx thunderx2t99 thunderx3t110 thunderxt81
        thunderxt83 thunderxt88 tsv110
    """,
    "riscv64": """
        an-erbium andes-ax25 andes-ax45 andes-ax45mpv andes-nx45 et-soc1 gaisler-gr765 generic-rv64
        mips-p8700 rocket-rv64 sifive-p450 sifive-p470 sifive-p550 sifive-p670 sifive-p870-d sifive-s21
        sifive-s51 sifive-s54 sifive-s76 sifive-u54 sifive-u74 sifive-x180 sifive-x280 sifive-x390
        spacemit-a100 spacemit-x100 spacemit-x60 syntacore-scr3-rv64 syntacore-scr4-rv64
        syntacore-scr5-rv64 syntacore-scr7 tt-ascalon-x tt-ascalon-xg xiangshan-kunminghu
        xiangshan-nanhu xt-c910v2 xt-c920v2
    """,
    "riscv32": "",
    "wasm32": "",
}
"""CPUs: the instruction set, which is the family, and the names of its processors, separated by spaces."""

BACKENDS: Final = ("rocm", "cuda", "vulkan", "metal", "llvm-cpu", "vmvx")
"""The backends, which are also the families of targets without further details."""
