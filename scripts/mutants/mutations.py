"""The mutants of a file: which there are, and the file's text with one of them."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from mutants.operators import OwnOperators

plugins.OPERATOR_PROVIDERS["own"] = OwnOperators()

_COMPARED = "Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt|Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is"
_COMPUTED = "Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_FloorDiv|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr"
_SIGNED = "USub_UAdd|Delete_Not"
KEPT = re.compile(
    r"own/\w+"
    rf"|core/ReplaceComparisonOperator_({_COMPARED})"
    rf"|core/ReplaceBinaryOperator_({_COMPUTED})"
    rf"|core/ReplaceUnaryOperator_({_SIGNED})"
    r"|core/(AddNot|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd)"
    r"|core/(ReplaceBreakWithContinue|ReplaceContinueWithBreak|NumberReplacer|RemoveDecorator|ZeroIterationForLoop)"
)
"""Each operator against its neighbour and its opposite. The rest die of a TypeError and would only swell the score."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one file."""

    path: str
    """Of the file, under `src/mnemon`."""
    operator: str
    occurrence: int
    line: int
    before: str
    """The line as it is."""
    after: str
    """What stands there instead."""

    @property
    def name(self) -> str:
        """What stays the same when lines above it come or go."""
        return f"{self.path}: {self.before} → {self.after}"


def mutants_of(path: str, file: Path) -> Iterator[Mutant]:
    """Every mutant of the file that changes what it does, in the order of its lines."""
    code = file.read_text(encoding="utf-8")
    skipped = _typing_spans(code)
    found = []
    nodes = list(ast_nodes(get_ast(code)))
    for name in filter(KEPT.fullmatch, plugins.operator_names()):
        operator = plugins.get_operator(name)()
        places = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, (line, column) in enumerate(places):
            if any(begin <= (line, column) < end for begin, end in skipped):
                continue
            mutated = mutated_code(code, name, occurrence)
            changed = _difference(code, mutated)
            # A lone `*` in a signature is no multiplication, though the tool takes it for one.
            if changed is not None and ("BinaryOperator" not in name or _computed(code) != _computed(mutated)):
                before, after = changed
                found.append(
                    Mutant(path=path, operator=name, occurrence=occurrence, line=line, before=before, after=after)
                )
    yield from sorted(found, key=lambda one: (one.line, one.operator, one.occurrence))


def mutated_code(code: str, operator: str, occurrence: int) -> str:
    """The code with the mutation."""
    made: Any = mutate_code(code, plugins.get_operator(operator)(), occurrence)
    return code if made is None else str(made)


def check_own_operators() -> None:
    """Raise unless each operator of our own does what its examples say."""
    for name in OwnOperators():
        for example in OwnOperators()[name].examples():
            made = mutated_code(example.pre_mutation_code, f"own/{name}", example.occurrence)
            if made != example.post_mutation_code:
                raise AssertionError(f"{name} makes {made!r} of {example.pre_mutation_code!r}")


def _difference(code: str, mutated: str) -> tuple[str, str] | None:
    """The lines that differ, from the first to the last; None when nothing does or it cannot be compiled."""
    old, new = code.splitlines(), mutated.splitlines()
    if old == new:
        return None
    try:
        ast.parse(mutated)
    except SyntaxError:
        return None
    first = next(n for n, (a, b) in enumerate(zip([*old, None], [*new, None], strict=False)) if a != b)
    last = next(n for n, (a, b) in enumerate(zip([*old[::-1], None], [*new[::-1], None], strict=False)) if a != b)
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    return _one_line(before), _one_line(after)


def _computed(code: str) -> Counter[type[ast.AST]]:
    """How often each operator computes something."""
    return Counter(type(node.op) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.BinOp | ast.AugAssign))


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


Span = tuple[tuple[int, int], tuple[int, int]]


def _typing_spans(code: str) -> list[Span]:
    """Where types stand, and whether classes are frozen: the type checker reads it, no test can."""
    spans: list[Span] = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.arg(annotation=found) | ast.AnnAssign(annotation=found):
                spans += _span(found)
            case (
                ast.FunctionDef(decorator_list=[ast.Name(id="overload") as mark])
                | ast.AsyncFunctionDef(decorator_list=[ast.Name(id="overload") as mark])
            ):
                spans += [*_span(mark), *_span(node)]
            case ast.FunctionDef(returns=found) | ast.AsyncFunctionDef(returns=found):
                spans += _span(found)
            case ast.Assign(value=ast.BinOp(op=ast.BitOr()) as union) if _is_types(union):
                spans += _span(union)
            case ast.ClassDef(bases=[ast.Name(id="Protocol")]):
                spans += _span(node)
            case ast.ClassDef(decorator_list=decorators):
                spans += [span for one in decorators for span in _span(one)]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                spans += _span(node)
    return spans


def _span(node: ast.AST | None) -> list[Span]:
    if node is None:
        return []
    ends: Any = node
    return [((ends.lineno, max(0, ends.col_offset - 1)), (ends.end_lineno, ends.end_col_offset))]


def _is_types(node: ast.expr) -> bool:
    """Whether it is a union of types, like `Placement = Repeat | Supersede`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_types(node.left) and _is_types(node.right)
    return (isinstance(node, ast.Name) and node.id[:1].isupper() and not node.id.isupper()) or (
        isinstance(node, ast.Constant) and node.value is None
    )
