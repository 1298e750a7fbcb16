"""Random specs for linking, and programs for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from sequential import ANY_OP, Alternatives, Nested, Pair, RunPass, Walks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from sequential import Step

PARAM = "!transform.param<i64>"
VALUE = "!transform.any_value"
ANY_PARAM = "!transform.any_param"
MAPS = (
    "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]",
    "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]",
)
ATTENTION_MAPS = (
    "[affine_map<(b, m, n, k, l) -> (b, m, k)>, affine_map<(b, m, n, k, l) -> (b, l, k)>,"
    " affine_map<(b, m, n, k, l) -> (b, l, n)>, affine_map<(b, m, n, k, l) -> ()>,"
    " affine_map<(b, m, n, k, l) -> (b, m, n)>]"
)
ONLINE_MAPS = f"{ATTENTION_MAPS[:-1]}, affine_map<(b, m, n, k, l) -> (b, m)>, affine_map<(b, m, n, k, l) -> (b, m)>]"
SIZES = ("8", "16", "?")
NAMES = (
    "linalg.fill",
    "linalg.copy",
    "linalg.matmul",
    "linalg.generic",
    "linalg.conv_2d_nhwc_hwcf",
    "iree_linalg_ext.attention",
    "iree_linalg_ext.online_attention",
    "arith.mulf",
    "arith.addf",
    "func.func",
)
LIKELY = NAMES[:4]


class Shape(Enum):
    """The form of the entry point of a generated spec."""

    DEFAULT = "default-entrypoint form"
    UNMARKED = "a matcher list under another name"
    LEGACY = "a @__kernel_config without marker and result"
    PARAMETER = "a parameter that is handed to the matchers"
    BESIDE = "a constant beside the list"
    INCLUDED = "a list in a sequence that the entry point includes, once or twice"
    TWO_LISTS = "two lists"
    TWO_ENTRY_POINTS = "two entry points"
    ALTERNATIVES = "alternatives that walk a list each"
    PASSES = "lists, with passes before, between or after them"


@dataclass
class GeneratedSpec:
    """A spec.

    Attributes:
        text: as MLIR.
        walks: as what it does.
        shape: what its entry point looks like.
    """

    text: str
    walks: Walks
    shape: Shape


# --- Ops, as they stand in programs and in graphs ----------------------------------------------------------


def generic(
    operands: str, kinds: tuple[str, str, str], maps: str, prefix: str, inner: str = ""
) -> str:
    lhs, rhs, out = kinds
    x, y, z, p, t = (f"%{prefix}{each}" for each in "xyzpt")
    a, b, c = operands.split(", ")
    return (
        f'linalg.generic {{indexing_maps = {maps}, iterator_types = ["parallel", "parallel", "reduction"]ATTRS}}'
        f" ins({a}, {b} : {lhs}, {rhs}) outs({c} : {out}) {{\n  ^bb0({x}: f32, {y}: f32, {z}: f32):\n{inner}"
        f"    {p} = arith.mulf {x}, {y} : f32\n    {t} = arith.addf {z}, {p} : f32\n"
        f"    linalg.yield {t} : f32\n  }} -> {out}"
    )


def twice(operand: str, kind: str, prefix: str) -> str:
    x, y, t = (f"%{prefix}{each}" for each in "xyt")
    same = "affine_map<(i, j) -> (i, j)>"
    return (
        f'linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]ATTRS}}'
        f" ins({operand} : {kind}) outs(%e_{prefix} : {kind}) {{\n  ^bb0({x}: f32, {y}: f32):\n"
        f"    {t} = arith.addf {x}, {x} : f32\n    linalg.yield {t} : f32\n  }} -> {kind}"
    )


def square(size: str, element: str = "f32") -> str:
    return f"tensor<{size}x{size}x{element}>"


@dataclass
class Program:
    """A function that is being written.

    Attributes:
        lines: its ops.
        arguments: its arguments, by name.
        squares: values that are square matrices, by their size.
    """

    random: Random
    lines: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    squares: dict[str, list[str]] = field(default_factory=dict)

    def argument(self, kind: str) -> str:
        name = f"%a{len(self.arguments)}"
        self.arguments[name] = kind
        return name

    def square(self, size: str) -> str:
        known = self.squares.get(size, [])
        if known and self.random.random() < 0.75:
            return self.random.choice(known[-3:])
        return self.argument(square(size))

    def attributes(self, *, alone: bool) -> str:
        found = []
        if self.random.random() < 0.12:
            tiles = self.random.choice((90, 91))
            found.append(
                f"lowering_config = #iree_codegen.lowering_config<tile_sizes = [[{tiles}]]>"
            )
        if self.random.random() < 0.05:
            found.append("hint = @helper")
        text = ", ".join(found)
        if not text:
            return ""
        return f" {{{text}}}" if alone else f", {text}"

    def add(self, text: str, size: str | None = None, count: int = 1) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name}{f':{count}' if count > 1 else ''} = {text}")
        if size is not None:
            self.squares.setdefault(size, []).append(name)
        return name

    def fill(self, size: str) -> str:
        kind = square(size)
        return self.add(
            f"linalg.fill{self.attributes(alone=True)} ins(%zero : f32) outs({self.square(size)} : {kind}) -> {kind}",
            size,
        )

    def piece(self) -> None:
        """Add an op, and often its producers."""
        size = self.random.choice(SIZES)
        kind = square(size)
        prefix = f"p{len(self.lines)}"
        which = self.random.random()
        if which < 0.12:
            self.fill(size)
        elif which < 0.24:
            source, into = self.square(size), self.square(size)
            self.add(
                f"linalg.copy{self.attributes(alone=True)} ins({source} : {kind}) outs({into} : {kind}) -> {kind}",
                size,
            )
        elif which < 0.55:
            out = self.fill(size) if self.random.random() < 0.5 else self.square(size)
            lhs = self.square(size)
            rhs = lhs if self.random.random() < 0.2 else self.square(size)
            self.add(
                f"linalg.matmul{self.attributes(alone=True)} ins({lhs}, {rhs} : {kind}, {kind})"
                f" outs({out} : {kind}) -> {kind}",
                size,
            )
        elif which < 0.72:
            operands = ", ".join(self.square(size) for _ in range(3))
            text = generic(operands, (kind, kind, kind), self.random.choice(MAPS), prefix)
            self.add(text.replace("ATTRS", self.attributes(alone=False)), size)
        elif which < 0.86:
            text = twice(self.square(size), kind, prefix).replace(f"%e_{prefix}", self.square(size))
            self.add(text.replace("ATTRS", self.attributes(alone=False)), size)
        elif which < 0.93:
            images, filters, out = (
                self.argument(each)
                for each in ("tensor<1x8x8x4xf32>", "tensor<3x3x4x8xf32>", "tensor<1x6x6x8xf32>")
            )
            self.add(
                "linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}"
                f" ins({images}, {filters} : tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>)"
                f" outs({out} : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>"
            )
        else:
            self.attention(online=self.random.random() < 0.5)

    def attention(self, *, online: bool) -> None:
        kind, row = "tensor<2x8x8xf32>", "tensor<2x8xf32>"
        q, k, v, o = (self.argument(kind) for _ in range(4))
        name = "online_attention" if online else "attention"
        kinds = [kind, row, row] if online else [kind]
        outs = ", ".join([o, *(self.argument(row) for _ in kinds[1:])])
        prefix = f"%s{len(self.lines)}"
        self.add(
            f"iree_linalg_ext.{name} <{{indexing_maps = {ONLINE_MAPS if online else ATTENTION_MAPS}}}>"
            f" ins({q}, {k}, {v}, %zero : {kind}, {kind}, {kind}, f32) outs({outs} : {', '.join(kinds)}) {{\n"
            f"  ^bb0({prefix}: f32):\n    iree_linalg_ext.yield {prefix} : f32\n  }} -> {', '.join(kinds)}",
            count=len(kinds),
        )

    def text(self) -> str:
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.arguments.items())
        separator = ", " if arguments else ""
        # A pass would erase what is not used.
        used = [
            f"  util.optimization_barrier %v{number}{'#0' if ':' in line.partition('=')[0] else ''} :"
            f" {re.split(' -> ', line)[-1].partition(', ')[0]}"
            for number, line in enumerate(self.lines)
        ]
        lines = "\n".join([*self.lines, *used])
        return f"func.func @payload(%zero: f32{separator}{arguments}) {{\n{lines}\n  return\n}}"


def random_program(random: Random) -> str:
    """Return a function with some ops that are producers of each other, some of which are configured."""
    program = Program(random)
    for _ in range(random.randint(1, 4)):
        program.piece()
    return program.text()


# --- Matchers ----------------------------------------------------------------------------------------------


def _name(random: Random) -> str:
    wanted = random.sample(LIKELY if random.random() < 0.85 else NAMES, random.choice((1, 1, 2)))
    return f"  transform.match.operation_name %op [{', '.join(map(_string, wanted))}] : {ANY_OP}\n"


def _string(text: str) -> str:
    return f'"{text}"'


def _contraction(random: Random) -> str:
    maps = "" if random.random() < 0.5 else f", indexing_maps = {random.choice(MAPS)}"
    body = (
        "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32,"
        f" output_type = f32{maps} : {ANY_OP} -> {PARAM}\n"
    )
    if random.random() < 0.4:
        size = random.choice((8, 16, -1))
        body += f"  transform.iree.match.dims_equal %{random.choice('mnk')}, [{size}] : {PARAM}\n"
    return body + _operand(random)


def _operand(random: Random) -> str:
    which = random.random()
    if which < 0.5:
        return ""
    body = f"  %v = transform.get_operand %op[{random.choice((0, 0, 1))}] : ({ANY_OP}) -> {VALUE}\n"
    if which < 0.7:
        return (
            f"{body}  transform.iree.match.dim_is_multiple_of %v[{random.choice((0, 1))}],"
            f" {random.choice((4, 8, 16))} : {VALUE}\n"
        )
    if which < 0.85:
        return f"{body}  transform.iree.match.dim_bounds %v[0], umin = 4, umax = {random.choice((8, 16))} : {VALUE}\n"
    kind = square(random.choice(SIZES))
    return f"{body}  transform.iree.match.cast_compatible_type %v = {kind} : {VALUE}\n"


def _convolution(random: Random) -> str:
    results = ", ".join(f"%c{number}" for number in range(8))
    body = (
        f"  {results} = transform.iree.match.convolution %op, lhs_type = f32, rhs_type = f32,"
        f" output_type = f32 : {ANY_OP} -> {PARAM}\n"
    )
    if random.random() < 0.3:
        body += f"  transform.iree.match.dims_equal %c2, [{random.choice((8, 16))}] : {PARAM}\n"
    return body


def _attention(random: Random) -> str:
    online = random.random() < 0.5
    outputs = "output_type = f32" + (", max_type = f32, sum_type = f32" if online else "")
    scale = "scale_type = f32, " if online else ""
    return (
        f"  %b, %m, %n, %k1, %k2 = transform.iree.match.{'online_' if online else ''}attention %op,"
        f" query_type = f32, key_type = f32, value_type = f32, {scale}{outputs},"
        f" indexing_maps = {ONLINE_MAPS if online else ATTENTION_MAPS} : {ANY_OP} -> {PARAM}\n"
    )


def _graph(random: Random) -> str:
    """Return a graph of one op, of one and its producers, or of one whose producer is shared."""
    kind = square(random.choice((*SIZES, "?", "?")))
    hint = random.choice(("", "", "", " {hint = @helper}"))
    lines, operands = [], ["%a", "%b", "%e"]
    arguments = {"%a": kind, "%b": kind, "%e": kind}
    which = random.random()
    if which < 0.4:
        arguments["%c"] = "f32"
        marked = " {match.operation_name_only}" if random.random() < 0.15 else hint
        lines.append(f"%z = linalg.fill{marked} ins(%c : f32) outs(%e : {kind}) -> {kind}")
        operands[2] = "%z"
    elif which < 0.7:
        lines.append(f"%z = linalg.copy{hint} ins(%a : {kind}) outs(%e : {kind}) -> {kind}")
        operands[0] = "%z"
        if random.random() < 0.3:
            operands[1] = "%z"
            del arguments["%b"]
        elif random.random() < 0.3:
            lines.append(f"%y = linalg.copy ins(%a : {kind}) outs(%e : {kind}) -> {kind}")
            operands[1] = "%y"
            del arguments["%b"]
    a, b, c = operands
    configured = random.choice(
        ("", "", "", " {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[90]]>}")
    )
    if random.random() < 0.7:
        lines.append(
            f"%r = linalg.matmul{configured} ins({a}, {b} : {kind}, {kind}) outs({c} : {kind}) -> {kind}"
        )
    else:
        text = generic(", ".join(operands), (kind, kind, kind), random.choice(MAPS), "g")
        lines.append(f"%r = {text.replace('ATTRS', '')}")
    taken = ", ".join(f"{name}: {each}" for name, each in arguments.items())
    body = "\n".join(f"    {each}" for each in lines)
    return (
        f"  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{\n  ^bb0({taken}):\n{body}\n"
        f"  }} : ({ANY_OP}) -> ({VALUE}, {VALUE})\n"
    )


def _regions(random: Random) -> str:
    kind = square("?")
    if random.random() < 0.5:
        text = generic("%a, %b, %e", (kind, kind, kind), random.choice(MAPS), "g")
        arguments = f"%a: {kind}, %b: {kind}, %e: {kind}"
    else:
        text = twice("%a", kind, "g").replace("%e_g", "%e")
        arguments = f"%a: {kind}, %e: {kind}"
    return (
        f"  transform.iree.match.regions %op : {ANY_OP} {{\n  ^bb0({arguments}):\n"
        f"    %r = {text.replace('ATTRS', '')}\n  }}\n"
    )


def _unconfigured(random: Random) -> str:
    return f"{_name(random)}  transform.iree.match.has_no_lowering_config %op : {ANY_OP}\n"


def _of_producer(random: Random) -> str:
    """Add a requirement on a producer."""
    name = ", ".join(map(_string, random.sample(LIKELY, 2)))
    check = random.choice(
        (
            f"  transform.match.operation_name %near [{name}] : {ANY_OP}\n",
            f"  transform.iree.match.has_no_lowering_config %near : {ANY_OP}\n",
        )
    )
    number = random.choice((0, 0, 1, 2))
    return f"{_name(random)}  %near = transform.get_producer_of_operand %op[{number}] : ({ANY_OP}) -> {ANY_OP}\n{check}"


def _included(random: Random) -> str:
    helper = random.choice(("helper", "helper", "library::@helper", '"library::helper"'))
    return f"  %same = transform.include @{helper} failures(propagate) (%op) : ({ANY_OP}) -> {ANY_OP}\n"


BODIES = (
    (_name, 6),
    (_contraction, 5),
    (_convolution, 1),
    (_attention, 1),
    (_graph, 5),
    (_regions, 2),
    (_unconfigured, 2),
    (_of_producer, 3),
    (_included, 2),
)


def _body(random: Random) -> str:
    (make,) = random.choices([each for each, _ in BODIES], [weight for _, weight in BODIES])
    return make(random)


REACHED = (
    f"  %p = transform.get_producer_of_operand %op[NUMBER] : ({ANY_OP}) -> {ANY_OP}\n",
    (
        f"  %p0 = transform.get_producer_of_operand %op[0] : ({ANY_OP}) -> {ANY_OP}\n"
        f"  %p1 = transform.get_producer_of_operand %op[NUMBER] : ({ANY_OP}) -> {ANY_OP}\n"
        f"  %p = transform.merge_handles deduplicate %p0, %p1 : {ANY_OP}\n"
    ),
    (
        f"  %p0 = transform.get_producer_of_operand %op[NUMBER] : ({ANY_OP}) -> {ANY_OP}\n"
        f"  %p = transform.merge_handles %p0, %op : {ANY_OP}\n"
    ),
    f"  %p = transform.get_parent_op %op : ({ANY_OP}) -> {ANY_OP}\n",
)


# --- Specs -------------------------------------------------------------------------------------------------


class _Writer:
    """Writes one spec."""

    def __init__(self, random: Random, first_value: int) -> None:
        self.random = random
        self.value = first_value
        self.strategy = self.imported = ""
        self.clashing: dict[str, str] = {}
        self.fails = random.random() < 0.15
        self.sequences = [_helper("helper", _body_without_includes(random))]
        self.sequences.append(
            "module @library attributes {transform.with_named_sequence} {\n"
            f"{_helper('helper', _body_without_includes(random))}\n}}"
        )
        self.sequences.append(_helper('"library::helper"', _body_without_includes(random)))

    def entry(self, number: int, parameter: str | None, others: list[Pair]) -> Pair:
        random = self.random
        body, yielded = _body(random), "%op"
        if random.random() < 0.25:
            body += random.choice(REACHED).replace("NUMBER", str(random.choice((0, 1, 2))))
            yielded = "%p"
        handles = [yielded] if random.random() < 0.85 else ["%op", yielded]
        kinds = [ANY_OP] * len(handles)
        taken = f"%op: {ANY_OP} {{transform.readonly}}"
        if parameter:
            taken += f", %given: {ANY_PARAM} {{transform.readonly}}"
            handles.append("%given")
            kinds.append(ANY_PARAM)
        elif random.random() < 0.3:
            body += f"  %c = transform.param.constant {self._configuration()} -> {ANY_PARAM}\n"
            handles.append("%c")
            kinds.append(ANY_PARAM)
        if "%b, %m" in body and random.random() < 0.2:
            # The lists of dimensions may have any length, and an annotation takes just one.
            handles.insert(len(handles) - (kinds[-1] == ANY_PARAM), random.choice(("%m", "%b")))
            kinds.insert(len(kinds) - (kinds[-1] == ANY_PARAM), PARAM)
        name = f"m{number}"
        self.sequences.append(
            f"transform.named_sequence @{name}({taken}) -> ({', '.join(kinds)}) {{\n{body}"
            f"  transform.yield {', '.join(handles)} : {', '.join(kinds)}\n}}"
        )
        action, first, nested = self._action(number, kinds), None, None
        if handles[0] == "%op" and not parameter and others and random.random() < 0.15:
            first = action
            nested = Nested(
                tuple(random.sample(others, random.randint(1, len(others)))),
                random.random() < 0.5,
                random.random() < 0.5,
            )
            action = self._walking_action(number, kinds, nested)
        further = (parameter,) if parameter else ()
        return Pair(f"@{name}", action, tuple(kinds), further, first, nested)

    def _walking_action(self, number: int, kinds: list[str], nested: Nested) -> str:
        """Add an action that includes the one of an entry, and then walks a list."""
        ownership = "readonly" if nested.is_in_parent else "consumed"
        taken = ", ".join(
            f"%x{each}: {kind} {{transform.{'readonly' if each else ownership}}}"
            for each, kind in enumerate(kinds)
        )
        given = ", ".join(f"%x{each}" for each in range(len(kinds)))
        lines = [
            f"  transform.include @a{number} failures(propagate) ({given}) : ({', '.join(kinds)}) -> ()"
        ]
        root = "%x0"
        if nested.is_in_parent:
            root = "%root"
            lines.append(f"  %root = transform.get_parent_op %x0 : ({ANY_OP}) -> {ANY_OP}")
        listed = ", ".join(f"{pair.matcher} -> {pair.action}" for pair in nested.entries)
        restricted = "restrict_root " if nested.asks_root else ""
        lines.append(
            f"  %walked = transform.foreach_match {restricted}in {root} {listed} : ({ANY_OP}) -> {ANY_OP}"
        )
        body = "\n".join([*lines, "  transform.yield"])
        self.sequences.append(f"transform.named_sequence @w{number}({taken}) {{\n{body}\n}}")
        return f"@w{number}"

    def _configuration(self) -> str:
        self.value += 1
        if self.strategy:
            return (
                f"#iree_gpu.lowering_config<{{workgroup = [{self.value}],"
                f' lowering_strategy = "{self.strategy}"}}>'
            )
        return f"#iree_codegen.lowering_config<tile_sizes = [[{self.value}]]>"

    def add_strategy(self) -> None:
        """Let the entries configure a strategy by name, which the actions ship.

        Another spec may have another strategy of the name, and each spec means its own. What a spec does is therefore
        written under a name that only the same strategy has.
        """
        name = self.random.choice(("tag", "tag", "tag_0"))
        what = self.random.choice(("shared", f"own {self.value}"))
        self.strategy = f"{name}_{what.replace(' ', '_')}"
        self.clashing = {self.strategy: name}
        text = (
            f"transform.named_sequence @{self.strategy}(%op: {ANY_OP} {{transform.readonly}}) {{\n"
            f'  transform.annotate %op "{what}" : {ANY_OP}\n  transform.yield\n}}'
        )
        self.imported = f"@{self.strategy}"
        if self.random.random() < 0.3:
            text = f"module @tags attributes {{transform.with_named_sequence}} {{\n{text}\n}}"
            self.imported = f"@tags::@{self.strategy}"
        self.sequences.append(text)

    def _shipping(self, target: str) -> list[str]:
        return [
            "  %symbols = transform.util.create_serialized_module {",
            f"  ^bb0(%library: {ANY_OP}):",
            (
                f"    %imported = transform.util.import_symbol {self.imported} into %library if undefined"
                f" : ({ANY_OP}) -> {ANY_OP}"
            ),
            f'    transform.annotate %library "transform.with_named_sequence" : {ANY_OP}',
            f"  }} -> {ANY_PARAM}",
            f"  %function = transform.get_parent_op {target} <isolated_from_above> : ({ANY_OP}) -> {ANY_OP}",
            (
                f'  transform.annotate %function "iree_codegen_external_symbols" = %symbols :'
                f" {ANY_OP}, {ANY_PARAM}"
            ),
        ]

    def _action(self, number: int, kinds: list[str]) -> str:
        random = self.random
        ops = [f"%x{each}" for each, kind in enumerate(kinds) if kind == ANY_OP]
        taken = ", ".join(
            f"%x{each}: {kind} {{transform.readonly}}" for each, kind in enumerate(kinds)
        )
        lines = []
        target = random.choice(ops)
        if random.random() < 0.1:
            lines.append(f"  %up = transform.get_parent_op {target} : ({ANY_OP}) -> {ANY_OP}")
            target = random.choice((target, "%up"))
        if random.random() < 0.75:
            value = f"%x{len(kinds) - 1}"
            if kinds[-1] != ANY_PARAM:
                value = "%c"
                lines.append(
                    f"  %c = transform.param.constant {self._configuration()} -> {ANY_PARAM}"
                )
            lines.append(
                f'  transform.annotate {target} "lowering_config" = {value} : {ANY_OP}, {ANY_PARAM}'
            )
            if self.strategy:
                lines += self._shipping(ops[0])
        elif random.random() < 0.4:
            self.value += 1
            lines.append(f'  transform.annotate {target} "mark{self.value}" : {ANY_OP}')
        if PARAM in kinds:
            value = f"%x{kinds.index(PARAM)}"
            lines.append(
                f'  transform.annotate {ops[0]} "size{self.value}" = {value} : {ANY_OP}, {PARAM}'
            )
        if self.fails:
            check = random.choice(
                (
                    f'  transform.match.operation_name {ops[0]} ["linalg.matmul"] : {ANY_OP}',
                    f"  %near = transform.get_producer_of_operand {ops[0]}[0] : ({ANY_OP}) -> {ANY_OP}",
                )
            )
            lines.insert(random.choice((0, len(lines))), check)
        name = f"a{number}"
        body = "\n".join([*lines, "  transform.yield"])
        if random.random() < 0.25:
            self.sequences.append(f"transform.named_sequence @set{number}({taken}) {{\n{body}\n}}")
            given = ", ".join(f"%x{each}" for each in range(len(kinds)))
            body = (
                f"  transform.include @set{number} failures(propagate) ({given}) : ({', '.join(kinds)}) -> ()\n"
                "  transform.yield"
            )
        self.sequences.append(f"transform.named_sequence @{name}({taken}) {{\n{body}\n}}")
        return f"@{name}"


def _helper(name: str, body: str) -> str:
    return (
        f"transform.named_sequence @{name}(%op: {ANY_OP} {{transform.readonly}}) -> {ANY_OP} {{\n{body}"
        f"  transform.yield %op : {ANY_OP}\n}}"
    )


def _body_without_includes(random: Random) -> str:
    while "include" in (body := _body(random)):
        pass
    return body


def random_spec(
    random: Random, number: int, shapes: tuple[Shape, ...] = tuple(Shape)
) -> GeneratedSpec:
    """Return a spec of one to four entries; their configurations identify the spec and the entry."""
    shape = random.choice(shapes)
    writer = _Writer(random, number * 1000)
    if random.random() < 0.15:
        writer.add_strategy()
    parameter = writer._configuration() if shape is Shape.PARAMETER else None
    pairs: list[Pair] = []
    for each in range(random.randint(1, 4)):
        pairs.append(writer.entry(each, parameter, pairs))
    half = (len(pairs) + 1) // 2
    steps: list[Step] = [tuple(pairs)]
    if shape in (Shape.TWO_LISTS, Shape.TWO_ENTRY_POINTS, Shape.ALTERNATIVES, Shape.PASSES):
        steps = [tuple(pairs[:half]), tuple(pairs[half:] or pairs[:1])]
    if shape is Shape.ALTERNATIVES:
        steps = [Alternatives((*steps[: random.randint(1, 2)],))]
    elif shape is Shape.PASSES or (shape is Shape.INCLUDED and random.random() < 0.4):
        steps = steps[: random.randint(1, 2)]
        for _ in range(random.randint(1, 2)):
            steps.insert(
                random.randint(0, len(steps)), RunPass(random.choice(("cse", "canonicalize")))
            )
    sequences = "\n".join(writer.sequences)
    # Without a random number, so that the scenarios that tests name stay as they are.
    times = 1 + len(sequences) % 2 if shape is Shape.INCLUDED else 1
    marker = ""
    if shape is Shape.DEFAULT:
        marker = ", iree_codegen.tuning_spec_with_default_entrypoint"
    symbol = random.choice(("", " @a", " @b", " @helper", " @__kernel_config"))
    text = (
        f"module{symbol} attributes {{transform.with_named_sequence{marker}}} {{\n{sequences}\n"
        f"{entry_points(shape, steps, parameter, times)}\n}}"
    )
    for own, name in writer.clashing.items():
        text = text.replace(own, name)
    return GeneratedSpec(text, Walks(sequences, tuple(steps) * times), shape)


def entry_points(shape: Shape, steps: Sequence[Step], parameter: str | None, times: int = 1) -> str:
    if shape is Shape.TWO_ENTRY_POINTS:
        return "\n".join(_entry_point(f"main_{each}", [step]) for each, step in enumerate(steps))
    name = "__kernel_config" if shape in (Shape.DEFAULT, Shape.LEGACY) else "main"
    beside = ""
    if shape is Shape.BESIDE:
        beside = f"  %beside = transform.param.constant 1 : i64 -> {PARAM}\n"
    if shape is Shape.INCLUDED:
        root = f"%root: {ANY_OP} {{transform.consumed}}"
        handles = ["%root", *(f"%r{number}" for number in range(times))]
        includes = "".join(
            f"  {after} = transform.include @walks failures(propagate) ({before}) : ({ANY_OP}) -> {ANY_OP}\n"
            for before, after in pairwise(handles)
        )
        return (
            f"{_entry_point('walks', steps).replace('attributes {iree_codegen.tuning_spec_entrypoint} ', '')}\n"
            f"transform.named_sequence @main({root}) -> {ANY_OP}\n"
            "    attributes {iree_codegen.tuning_spec_entrypoint} {\n"
            f"{includes}  transform.yield {handles[-1]} : {ANY_OP}\n}}"
        )
    if parameter:
        beside = f"  %given = transform.param.constant {parameter} -> {ANY_PARAM}\n"
    return _entry_point(name, steps, beside, is_legacy=shape is Shape.LEGACY, given=bool(parameter))


def _entry_point(
    name: str,
    steps: Sequence[Step],
    beside: str = "",
    *,
    is_legacy: bool = False,
    given: bool = False,
) -> str:
    lines, handle = [], "%root"
    for number, step in enumerate(steps):
        if isinstance(step, Alternatives):
            lines.append(
                f'  %functions = transform.structured.match ops{{["func.func"]}} in {handle} :'
                f" ({ANY_OP}) -> {ANY_OP}\n  transform.alternatives %functions : {ANY_OP} {{"
            )
            regions = [
                f"  ^bb0(%scope: {ANY_OP}):\n"
                f"    %walked = transform.foreach_match in %scope {_listed(pairs)} : ({ANY_OP}) -> {ANY_OP}"
                for pairs in step.lists
            ]
            lines.append("\n  }, {\n".join(regions) + "\n  }")
            continue
        if isinstance(step, RunPass):
            text = f'apply_registered_pass "{step.name}" to {handle} : ({ANY_OP}) -> {ANY_OP}'
        else:
            more, kinds = (", %given", f", {ANY_PARAM}") if given else ("", "")
            text = (
                f"foreach_match in {handle}{more} {_listed(step)} : ({ANY_OP}{kinds}) -> {ANY_OP}"
            )
        lines.append(f"  %r{number} = transform.{text}")
        handle = f"%r{number}"
    body = beside + "\n".join(lines)
    if is_legacy:
        return (
            f"transform.named_sequence @{name}(%root: {ANY_OP} {{transform.consumed}}) {{\n{body}\n"
            "  transform.yield\n}"
        )
    return (
        f"transform.named_sequence @{name}(%root: {ANY_OP} {{transform.consumed}}) -> {ANY_OP}\n"
        f"    attributes {{iree_codegen.tuning_spec_entrypoint}} {{\n{body}\n  transform.yield {handle} : {ANY_OP}\n}}"
    )


def _listed(pairs: Sequence[Pair]) -> str:
    return ", ".join(f"{pair.matcher} -> {pair.action}" for pair in pairs)


SYMBOL = re.compile(r"@(m\d+|a\d+|set\d+|w\d+|walks|main(?:_\d+)?)(?![\w$.-])")
"""The symbols of a spec that may have any name."""

COLLIDING = (
    *("is_decided", "is_decided_0", "is_undecided", "undecided_of", "undecided_or_none"),
    *("is_unconfigured", "configured_in", "is_any", "keep", "skip", "skip_0", "list", "list_0"),
    *("kernel_config", "kernel_config_0", "__kernel_config_0", "__kernel_config_1"),
    *("_kernel_config", "___kernel_config", "__kernel_configs", "iree_linked_tuning_spec"),
    *("main", "main_0", "main_1", "m0", "m0_0", "a1", "helper_0", '"a::b"', '"x y"'),
)
"""Names that linking gives, itself or in the compiler, and names that need quotes."""


def with_colliding_names(spec: GeneratedSpec, random: Random) -> GeneratedSpec:
    """Return a spec some of whose symbols have names that linking gives to others."""
    symbols = sorted(set(SYMBOL.findall(spec.text)))
    free = [name for name in COLLIDING if name not in symbols]
    chosen = random.sample(symbols, random.randint(0, len(symbols)))
    new_names = dict(zip(chosen, random.sample(free, len(free)), strict=False))

    def renamed(text: str) -> str:
        return SYMBOL.sub(lambda match: f"@{new_names.get(match[1], match[1])}", text)

    def renamed_pair(pair: Pair) -> Pair:
        nested = pair.nested
        return replace(
            pair,
            matcher=renamed(pair.matcher),
            action=renamed(pair.action),
            first=pair.first and renamed(pair.first),
            nested=nested and replace(nested, entries=tuple(map(renamed_pair, nested.entries))),
        )

    def renamed_step(step: Step) -> Step:
        if isinstance(step, Alternatives):
            return Alternatives(tuple(tuple(map(renamed_pair, pairs)) for pairs in step.lists))
        return step if isinstance(step, RunPass) else tuple(map(renamed_pair, step))

    steps = tuple(map(renamed_step, spec.walks.steps))
    return replace(spec, text=renamed(spec.text), walks=Walks(renamed(spec.walks.sequences), steps))


def random_specs(random: Random) -> list[GeneratedSpec]:
    """Return one to three specs."""
    count = random.choice((1, 2, 2, 2, 3))
    specs = [random_spec(random, number + 1) for number in range(count)]
    return [with_colliding_names(spec, random) if random.random() < 0.5 else spec for spec in specs]
