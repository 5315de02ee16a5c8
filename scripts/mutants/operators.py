"""Mutations that Cosmic Ray lacks: a statement that is not made, a branch that is always taken, a filter that is gone.

The defects that hand-planted mutations found were of these kinds, so the tool's own set is extended by its plugin seam.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import parso
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import BaseNode

Node = Any
"""Of a tree of parso's, which are hardly typed."""
Position = tuple[tuple[int, int], tuple[int, int]]


def _parsed(code: str, before: str) -> Node:
    """The code as a tree, with the white space and comments that stood before the node it replaces."""
    return parso.parse(before + code)


def _text(node: Node) -> str:
    return str(node.get_code(include_prefix=False))


class RemoveStatement(Operator):  # type: ignore[misc]
    """Leave a call, a raise or an augmented assignment out."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.parent is not None and node.parent.type == "simple_stmt" and self._acts(node):
            yield node.start_pos, node.end_pos

    def _acts(self, node: Node) -> bool:
        if node.type in ("raise_stmt", "atom_expr", "await_expr"):
            return True
        # `x += 1`, but neither `x = 1` nor `x: int = 1`: what is not assigned dies of a NameError.
        return isinstance(node, BaseNode) and node.type == "expr_stmt" and _text(node.children[1])[:1] not in "=:"

    def mutate(self, node: Node, index: int) -> Node:
        return _parsed("pass", node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("def f():\n    save(x)\n    return x\n", "def f():\n    pass\n    return x\n"),
            Example("async def f():\n    await save(x)\n", "async def f():\n    pass\n"),
            Example("if x:\n    raise Wrong(x)\n", "if x:\n    pass\n"),
            Example("n += 1\n", "pass\n"),
        )


class TakeBranch(Operator):  # type: ignore[misc]
    """Take one side of a conditional expression, whatever its condition."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if isinstance(node, BaseNode) and node.type in ("test", "ternary") and len(node.children) == 5:
            yield node.start_pos, node.end_pos
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        assert isinstance(node, BaseNode)
        return _parsed(_text(node.children[(0, 4)[index]]), node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("x = a if b else c\n", "x = a\n"), Example("x = a if b else c\n", "x = c\n", occurrence=1))


class DropFilter(Operator):  # type: ignore[misc]
    """Let a comprehension take everything."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type == "comp_if":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        return _parsed("if True", node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("[a for a in b if a > 1]\n", "[a for a in b if True]\n"),)


class SwapExtreme(Operator):  # type: ignore[misc]
    """Take the largest for the smallest, all for any, and the other way round."""

    OTHERS: ClassVar = {"min": "max", "max": "min", "any": "all", "all": "any"}

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type == "name" and _text(node) in self.OTHERS and _is_called(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        node.value = self.OTHERS[_text(node)]
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("x = min(a, b)\n", "x = max(a, b)\n"), Example("any(x)\n", "all(x)\n"))


class CatchNothing(Operator):  # type: ignore[misc]
    """Let every exception of an `except` or a `suppress` through."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if isinstance(node, BaseNode) and (node.type == "except_clause" or self._suppresses(node)):
            yield node.children[1].start_pos, node.children[1].end_pos

    def _suppresses(self, node: BaseNode) -> bool:
        return node.type == "atom_expr" and _text(node.children[0]) == "suppress" and _text(node.children[1]) != "()"

    def mutate(self, node: Node, index: int) -> Node:
        assert isinstance(node, BaseNode)
        node.children[1] = _parsed("()", node.children[1].get_first_leaf().prefix)
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("try: f()\nexcept (A, b.C) as e: pass\n", "try: f()\nexcept () as e: pass\n"),
            Example("with suppress(A): f()\n", "with suppress(): f()\n"),
        )


def _is_called(node: Node) -> bool:
    following = node.get_next_leaf()
    before = node.get_previous_leaf()
    return following is not None and following.value == "(" and (before is None or before.value not in (".", "def"))


class OwnOperators:
    """The provider of these operators, as Cosmic Ray wants it."""

    ALL: ClassVar = {one.__name__: one for one in (RemoveStatement, TakeBranch, DropFilter, SwapExtreme, CatchNothing)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.ALL)

    def __getitem__(self, name: str) -> type[Operator]:
        return self.ALL[name]
