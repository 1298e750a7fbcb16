"""The dispatches of some models: ResNet-50, BERT, a Llama layer, a block of the UNet of SDXL, a Whisper layer.

The sizes are those of the published models; layers that repeat are listed once. Element-wise operations are next to the
operation that they are fused with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mlir_function import Function, Tensor

Op = Callable[[Function], Tensor]
"""Adds an operation with its arguments to a function, and returns the result."""

_ADD = "%r = add %0, %1 : T"
_ADD_RELU = "%a = add %0, %1 : T\n%z = arith.constant 0.0 : T\n%r = maximum %a, %z : T"
_ADD_TANH = "%a = add %0, %1 : T\n%r = math.tanh %a : T"
_ADD_GELU = (
    "%x = add %0, %1 : T\n%s = arith.constant 0.7071 : T\n%y = mul %x, %s : T\n%e = math.erf %y : T\n"
    "%o = arith.constant 1.0 : T\n%f = add %e, %o : T\n%h = arith.constant 0.5 : T\n"
    "%g = mul %x, %h : T\n%r = mul %g, %f : T"
)
_SILU_MULTIPLY = (
    "%n = arith.negf %0 : T\n%e = math.exp %n : T\n%o = arith.constant 1.0 : T\n"
    "%d = add %e, %o : T\n%s = div %0, %d : T\n%r = mul %s, %1 : T"
)
_RESIDUAL = "%2"
"""The operand that a layer adds beside its bias."""
_ADD_RESIDUAL = "%a = add %0, %1 : T\n%r = add %a, %2 : T"
_ADD_RESIDUAL_RELU = (
    "%a = add %0, %1 : T\n%b = add %a, %2 : T\n%z = arith.constant 0.0 : T\n%r = maximum %b, %z : T"
)
_SQUARE = "%p = mul %0, %0 : T\n%r = add %out, %p : T"
_SUM = "%r = add %out, %0 : T"
_VARIANCE = "%c = sub %0, %1 : T\n%p = mul %c, %c : T\n%r = add %out, %p : T"
_LAYER_NORM = (
    "%c = sub %0, %1 : T\n%i = math.rsqrt %2 : T\n%s = mul %c, %i : T\n%w = mul %s, %3 : T\n"
    "%r = add %w, %4 : T"
)
_GROUP_NORM_SILU = (
    f"{_LAYER_NORM.replace('%r =', '%x =')}\n%n = arith.negf %x : T\n%e = math.exp %n : T\n"
    "%o = arith.constant 1.0 : T\n%d = add %e, %o : T\n%r = div %x, %d : T"
)
_DOUBLE = "%r = add %0, %0 : T"
_ROTATE = "%a = mul %0, %1 : T\n%b = mul %0, %2 : T\n%r = add %a, %b : T"
_RMS_NORM = "%i = math.rsqrt %1 : T\n%s = mul %0, %i : T\n%r = mul %s, %2 : T"


def linear(
    function: Function,
    sizes: tuple[int | None, int, int],
    element: str = "f32",
    after: str = "",
    *,
    batch: int = 0,
) -> Tensor:
    """Return a layer of sizes m, n and k, with weights of n rows, and what follows with its bias."""
    m, n, k = sizes
    lead, loops = ((batch,), "b") if batch else ((), "")
    lhs = function.argument(*lead, m, k, element=element)
    rhs = function.argument(n, k, element=element)
    product = function.contraction(f"{loops}mk,nk->{loops}mn", lhs, rhs, "f32")
    out = f"{loops}mn"
    if not after:
        return product if element == "f32" else _cast(function, product, out, element)
    inputs, accesses = [product, function.argument(n, element=element)], f"{out},n"
    if _RESIDUAL in after:
        inputs.append(function.argument(*lead, m, n, element=element))
        accesses += f",{out}"
    return function.generic(f"{accesses}->{out}", *inputs, body=after, element=element)


def _cast(function: Function, tensor: Tensor, loops: str, element: str) -> Tensor:
    body = "%z = arith.constant 0.0 : T\n%r = add %0, %z : T"
    return function.generic(f"{loops}->{loops}", tensor, body=body, element=element)


def product(
    function: Function,
    accesses: str,
    sizes: dict[str, int | None],
    element: str = "f32",
) -> Tensor:
    """Return a product of two computed tensors, such as the scores of an attention."""
    lhs, rhs = (
        function.argument(*map(sizes.__getitem__, each), element=element)
        for each in accesses.partition("->")[0].split(",")
    )
    return function.contraction(accesses, lhs, rhs, "f32")


def convolution(
    function: Function,
    layout: str,
    sizes: tuple[int, int, int],
    channels: tuple[int, int],
    kernel: int,
    *,
    stride: int = 1,
    element: str = "f32",
    after: str = _ADD,
) -> Tensor:
    """Return a convolution over two dimensions, padded to keep its size, with a bias.

    Args:
        function: where it is added.
        layout: `nhwc` or `nchw`.
        sizes: of the images: how many, rows, columns.
        channels: of the input and of the output.
        kernel: rows and columns of the filter.
        stride: the step of the filter.
        element: the element type.
        after: what follows.
    """
    count, rows, columns = sizes
    inputs, outputs = channels
    is_last = layout == "nhwc"

    def shape(count: int, rows: int, columns: int, features: int) -> tuple[int, ...]:
        return (count, rows, columns, features) if is_last else (count, features, rows, columns)

    image = function.argument(*shape(count, rows, columns, inputs), element=element)
    filters = (kernel, kernel, inputs, outputs) if is_last else (outputs, inputs, kernel, kernel)
    weights = function.argument(*filters, element=element)
    margin = kernel // 2
    if margin:
        image = function.pad(image, shape(0, margin, margin, 0))
    left = shape(count, -(-rows // stride), -(-columns // stride), outputs)
    name = "conv_2d_nhwc_hwcf" if is_last else "conv_2d_nchw_fchw"
    found = function.named(
        f"linalg.{name} {{strides = dense<{stride}> : vector<2xi64>}}",
        (image, weights),
        left,
        "f32",
        0,
    )
    added = [found, function.argument(outputs, element=element)]
    loops = "nhwf" if is_last else "nfhw"
    accesses = f"{loops},f"
    if _RESIDUAL in after:
        added.append(function.argument(*left, element=element))
        accesses += f",{loops}"
    return function.generic(f"{accesses}->{loops}", *added, body=after, element=element)


def pooling(
    function: Function, name: str, image: tuple[int, ...], kernel: int, stride: int
) -> Tensor:
    """Return a pooling of an image in nhwc layout by windows of `kernel` rows and columns, `stride` apart."""
    count, rows, columns, channels = image
    is_max = name.endswith("max")
    found = function.argument(*image)
    margin = kernel // 2 if is_max else 0
    start = -3.0e38 if is_max else 0.0
    if margin:
        found = function.pad(found, (0, margin, margin, 0), start)
    left = [(each + 2 * margin - kernel) // stride + 1 for each in (rows, columns)]
    operation = f"linalg.{name} {{strides = dense<{stride}> : vector<2xi64>}}"
    inputs = (found, function.window(kernel, kernel))
    return function.named(operation, inputs, (count, *left, channels), "f32", start)


def convolution_1d(
    function: Function, length: int, channels: tuple[int, int], stride: int, element: str
) -> Tensor:
    """Return a convolution of three taps over one dimension, in channels-first layout, with a bias and a GELU."""
    inputs, outputs = channels
    image = function.pad(function.argument(1, inputs, length, element=element), (0, 0, 1))
    weights = function.argument(outputs, inputs, 3, element=element)
    operation = f"linalg.conv_1d_ncw_fcw {{strides = dense<{stride}> : vector<1xi64>}}"
    found = function.named(operation, (image, weights), (1, outputs, length // stride), "f32", 0)
    bias = function.argument(outputs, element=element)
    return function.generic("nfw,f->nfw", found, bias, body=_ADD_GELU, element=element)


def layer_norm(function: Function, sizes: tuple[int, ...], element: str = "f32") -> Tensor:
    """Return a layer normalization over the last dimension, with weights and a bias."""
    rows = "abc"[: len(sizes) - 1]
    tensor = function.argument(*sizes, element=element)
    mean = function.generic(f"{rows}d->{rows}", tensor, body=_SUM, element="f32", start=0)
    accesses = f"{rows}d,{rows}->{rows}"
    variance = function.generic(accesses, tensor, mean, body=_VARIANCE, element="f32", start=0)
    weights = [function.argument(sizes[-1], element=element) for _ in range(2)]
    return function.generic(
        f"{rows}d,{rows},{rows},d,d->{rows}d",
        *(tensor, mean, variance, *weights),
        body=_LAYER_NORM,
        element=element,
    )


def group_norm(function: Function, sizes: tuple[int, ...], element: str) -> Tensor:
    """Return a group normalization over channels of a group, rows and columns, followed by a SiLU."""
    tensor = function.argument(*sizes, element=element)
    mean = function.generic("ngchw->ng", tensor, body=_SUM, element="f32", start=0)
    variance = function.generic(
        "ngchw,ng->ng", tensor, mean, body=_VARIANCE, element="f32", start=0
    )
    weights = [function.argument(*sizes[1:3], element=element) for _ in range(2)]
    return function.generic(
        "ngchw,ng,ng,gc,gc->ngchw",
        *(tensor, mean, variance, *weights),
        body=_GROUP_NORM_SILU,
        element=element,
    )


def rms_norm(function: Function, rows: int | None, size: int, element: str) -> Tensor:
    """Return a normalization by the root of the mean square."""
    tensor = function.argument(rows, size, element=element)
    squares = function.generic("ad->a", tensor, body=_SQUARE, element="f32", start=0)
    weights = function.argument(size, element=element)
    return function.generic("ad,a,d->ad", tensor, squares, weights, body=_RMS_NORM, element=element)


def softmax(function: Function, sizes: tuple[int | None, ...], element: str = "f32") -> Tensor:
    """Return a softmax over the last dimension."""
    return function.softmax(function.argument(*sizes, element=element))


def attention(
    function: Function,
    sizes: dict[str, int],
    element: str = "f16",
    *,
    batch: str = "b",
    shared: str = "b",
    masked: bool = False,
) -> Tensor:
    """Return an attention.

    Args:
        function: where it is added.
        sizes: the size of each loop: those of `batch`, and `m`, `n`, `k` (of query and key), `l` (the keys).
        element: the element type.
        batch: the batch loops.
        shared: the batch loops of key and value: fewer where heads share them.
        masked: whether there is a mask.
    """
    accesses = [f"{batch}mk", f"{shared}lk", f"{shared}ln"] + [f"{batch}ml"] * masked
    found = [function.argument(*map(sizes.__getitem__, each), element=element) for each in accesses]
    return function.attention(f"{','.join(accesses)}->{batch}mn", *found)


def elementwise(
    function: Function,
    accesses: str,
    sizes: dict[str, int | None],
    body: str,
    element: str = "f32",
) -> Tensor:
    """Return an operation on elements that is fused with nothing."""
    inputs = [
        function.argument(*map(sizes.__getitem__, each), element=element)
        for each in accesses.partition("->")[0].split(",")
    ]
    return function.generic(accesses, *inputs, body=body, element=element)


def _op(maker: Callable[..., Tensor], *values: object, **options: object) -> Op:
    return lambda function: maker(function, *values, **options)


def _resnet() -> list[Op]:
    ops = [
        _op(convolution, "nhwc", (1, 224, 224), (3, 64), 7, stride=2, after=_ADD_RELU),
        _op(pooling, "pooling_nhwc_max", (1, 112, 112, 64), 3, 2),
    ]
    inputs = 64
    for size, channels, stride in ((56, 64, 1), (28, 128, 2), (14, 256, 2), (7, 512, 2)):
        image, left, outputs = (1, size * stride, size * stride), (1, size, size), 4 * channels
        ops += [
            _op(convolution, "nhwc", image, (inputs, channels), 1, after=_ADD_RELU),
            _op(
                convolution, "nhwc", image, (channels, channels), 3, stride=stride, after=_ADD_RELU
            ),
            _op(convolution, "nhwc", image, (inputs, outputs), 1, stride=stride),
            _op(convolution, "nhwc", left, (outputs, channels), 1, after=_ADD_RELU),
            _op(convolution, "nhwc", left, (channels, channels), 3, after=_ADD_RELU),
            _op(
                convolution,
                *("nhwc", left, (channels, outputs), 1),
                after=_ADD_RESIDUAL_RELU,
            ),
        ]
        inputs = outputs
    return [
        *ops,
        _op(pooling, "pooling_nhwc_sum", (1, 7, 7, 2048), 7, 1),
        _op(linear, (1, 1000, 2048), after=_ADD),
        _op(softmax, (1, 1000)),
    ]


def _bert() -> list[Op]:
    heads, rows = {"b": 12, "m": 384, "n": 384, "k": 64}, 384
    return [
        _op(linear, (rows, 768, 768), after=_ADD),
        _op(elementwise, "mbk->bmk", heads, "%r = mul %0, %0 : T"),
        _op(product, "bmk,bnk->bmn", heads),
        _op(softmax, (12, rows, rows)),
        _op(product, "bmk,bkn->bmn", {"b": 12, "m": rows, "n": 64, "k": rows}),
        _op(linear, (rows, 768, 768), after=_ADD_RESIDUAL),
        _op(layer_norm, (rows, 768)),
        _op(linear, (rows, 3072, 768), after=_ADD_GELU),
        _op(linear, (rows, 768, 3072), after=_ADD_RESIDUAL),
        _op(elementwise, "md,md,d->md", {"m": rows, "d": 768}, _ADD_RESIDUAL),
        _op(linear, (1, 768, 768), after=_ADD_TANH),
        _op(linear, (rows, 2, 768), after=_ADD),
    ]


def _llama() -> list[Op]:
    """Return a layer of 4,096 features and 32 heads, 8 of them for keys and values: a prompt, one of any length, a token."""
    ops = []
    for rows in (512, None, 1):
        ops += [
            _op(rms_norm, rows, 4096, "f16"),
            _op(linear, (rows, 4096, 4096), "f16"),
            _op(linear, (rows, 1024, 4096), "f16"),
            _op(linear, (rows, 14336, 4096), "f16"),
            _op(linear, (rows, 4096, 14336), "f16"),
            _op(elementwise, "md,md->md", {"m": rows, "d": 14336}, _SILU_MULTIPLY, "f16"),
            _op(elementwise, "md,md->md", {"m": rows, "d": 4096}, _ADD, "f16"),
        ]
    grouped = {"h": 8, "g": 4, "m": 512, "n": 128, "k": 128, "l": 512}
    token = {**grouped, "m": 1, "l": 2048}
    return [
        *ops,
        _op(elementwise, "mhk,mk,mk->hmk", {"m": 512, "h": 32, "k": 128}, _ROTATE, "f16"),
        _op(attention, grouped, batch="hg", shared="h", masked=True),
        _op(attention, token, batch="hg", shared="h", masked=True),
        _op(attention, {"b": 32, "m": 1, "n": 128, "k": 128, "l": 2048}),
        _op(linear, (1, 128256, 4096), "f16"),
        _op(softmax, (1, 128256), "f16"),
    ]


def _unet() -> list[Op]:
    """Return the second level of the UNet down: 640 channels on 64x64, for two images at once."""
    rows, half = 4096, "f16"
    return [
        _op(group_norm, (2, 32, 10, 128, 128), half),
        _op(convolution, "nchw", (2, 128, 128), (320, 320), 3, stride=2, element=half),
        _op(group_norm, (2, 32, 10, 64, 64), half),
        _op(convolution, "nchw", (2, 64, 64), (320, 640), 3, element=half),
        _op(linear, (2, 640, 1280), half, _ADD),
        _op(elementwise, "nchw,nc->nchw", {"n": 2, "c": 640, "h": 64, "w": 64}, _ADD, half),
        _op(group_norm, (2, 32, 20, 64, 64), half),
        _op(
            convolution,
            "nchw",
            (2, 64, 64),
            (640, 640),
            3,
            stride=1,
            element=half,
            after=_ADD_RESIDUAL,
        ),
        _op(convolution, "nchw", (2, 64, 64), (320, 640), 1, element=half),
        _op(elementwise, "nchw->nhwc", {"n": 2, "c": 640, "h": 64, "w": 64}, _DOUBLE, half),
        _op(layer_norm, (2, rows, 640), half),
        _op(linear, (rows, 640, 640), half, batch=2),
        _op(attention, {"b": 20, "m": rows, "n": 64, "k": 64, "l": rows}),
        _op(linear, (rows, 640, 640), half, _ADD_RESIDUAL, batch=2),
        _op(linear, (77, 640, 2048), half, batch=2),
        _op(attention, {"b": 20, "m": rows, "n": 64, "k": 64, "l": 77}),
        _op(linear, (rows, 5120, 640), half, _ADD, batch=2),
        _op(elementwise, "bmd,bmd->bmd", {"b": 2, "m": rows, "d": 2560}, _SILU_MULTIPLY, half),
        _op(linear, (rows, 640, 2560), half, _ADD_RESIDUAL, batch=2),
        _op(convolution, "nchw", (2, 64, 64), (640, 640), 3, stride=2, element=half),
    ]


def _whisper() -> list[Op]:
    """Return the large model: the convolutions before the encoder, a layer of it, a layer of the decoder at one token."""
    rows, half = 1500, "f16"
    ops = [
        _op(convolution_1d, 3000, (128, 1280), 1, half),
        _op(convolution_1d, 3000, (1280, 1280), 2, half),
        _op(elementwise, "cw,wc->wc", {"c": 1280, "w": rows}, _ADD, half),
        _op(attention, {"b": 20, "m": rows, "n": 64, "k": 64, "l": rows}),
        _op(attention, {"b": 20, "m": 1, "n": 64, "k": 64, "l": rows}),
        _op(attention, {"b": 20, "m": 1, "n": 64, "k": 64, "l": 448}, masked=True),
    ]
    for length in (rows, 1):
        ops += [
            _op(layer_norm, (length, 1280), half),
            _op(linear, (length, 1280, 1280), half, _ADD),
            _op(linear, (length, 1280, 1280), half, _ADD_RESIDUAL),
            _op(linear, (length, 5120, 1280), half, _ADD_GELU),
            _op(linear, (length, 1280, 5120), half, _ADD_RESIDUAL),
        ]
    return [*ops, _op(linear, (1, 51866, 1280), half), _op(softmax, (1, 51866), "f32")]


MODELS: Final = {
    "ResNet-50": _resnet,
    "BERT": _bert,
    "Llama": _llama,
    "SDXL UNet": _unet,
    "Whisper": _whisper,
}


def program(model: str) -> list[str]:
    """Return the dispatches of a model as functions."""
    found = []
    for number, op in enumerate(MODELS[model]()):
        function = Function(f"dispatch{number}")
        found.append(function.text(op(function)))
    return found
