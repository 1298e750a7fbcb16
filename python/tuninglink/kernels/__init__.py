"""Kernels: code for what the compiler does not generate, from providers, in the place of ops."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.kernels.attentions import (
        ScaledAttention as ScaledAttention,
    )
    from tuninglink.kernels.convolutions import ConvolutionProblem as ConvolutionProblem
    from tuninglink.kernels.decomposed import DecomposedAttention as DecomposedAttention
    from tuninglink.kernels.graphs import (
        KernelProblem as KernelProblem,
        kernel_problem as kernel_problem,
        problems_of as problems_of,
        repeated_program as repeated_program,
    )
    from tuninglink.kernels.guards import (
        guard_fault as guard_fault,
        guarded_program as guarded_program,
    )
    from tuninglink.kernels.kernel import (
        BuiltKernel as BuiltKernel,
        Candidate as Candidate,
        FirstKernel as FirstKernel,
        KernelCall as KernelCall,
        KernelError as KernelError,
        KernelProvider as KernelProvider,
        kernel_architecture as kernel_architecture,
    )
    from tuninglink.kernels.problems import (
        ProductProblem as ProductProblem,
        Windows as Windows,
    )
    from tuninglink.kernels.providers import GROUP as GROUP, kernel_providers as kernel_providers
    from tuninglink.kernels.quantized import QuantizedProduct as QuantizedProduct
    from tuninglink.kernels.shipped import (
        kernels_summary as kernels_summary,
        load_kernels as load_kernels,
        shipped_kernels as shipped_kernels,
    )
    from tuninglink.kernels.steps import Instruction as Instruction, Step as Step
    from tuninglink.kernels.triton_provider import TritonProvider as TritonProvider
