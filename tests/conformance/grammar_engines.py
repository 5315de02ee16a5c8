"""Compile a JSON schema with a real grammar engine and match texts against it; run in an environment of its own.

    .venv/engines/bin/python tests/conformance/grammar_engines.py llama.cpp < request.json

The request is `{"schemas": {name: schema}, "texts": {name: [text, …]}}`; the answer is `{name: [matches, …]}`, or
`{name: error}` for a schema that the engine refuses. Nothing of Mnemon is imported, and no model is needed: the engines
match bytes.
"""

import importlib
import json
import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

Matches = Callable[[str], bool]
"""Says whether the whole text is an answer that the compiled schema allows."""


def compile_llama_cpp(schema: dict[str, Any]) -> Matches:
    """Compile with llama.cpp's converter; its grammar is matched by llguidance, which reads the same notation."""
    grammar = importlib.import_module("xllamacpp").json_schema_to_grammar(json.dumps(schema))
    llguidance = importlib.import_module("llguidance")
    return _llguidance_matches(llguidance.grammar_from("gbnf", grammar))


def compile_llguidance(schema: dict[str, Any]) -> Matches:
    """Compile with llguidance at its defaults (llama.cpp's other engine, vLLM's and OpenAI's)."""
    return _llguidance_matches(importlib.import_module("llguidance").grammar_from("json_schema", json.dumps(schema)))


def compile_xgrammar(schema: dict[str, Any]) -> Matches:
    """Compile with xgrammar at its defaults (vLLM's and SGLang's), strict as these send it."""
    xgrammar = _import_xgrammar()
    letters = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    vocabulary = xgrammar.TokenizerInfo(letters, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    compiled = xgrammar.GrammarCompiler(vocabulary).compile_json_schema(json.dumps(schema))

    def matches(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(byte) for byte in text.encode()) and bool(matcher.accept_token(256))

    return matches


def compile_outlines(schema: dict[str, Any]) -> Matches:
    """Compile with outlines-core: into the pattern that it holds a model to, and that into its automaton."""
    outlines = importlib.import_module("outlines_core")
    pattern = importlib.import_module("outlines_core.json_schema").build_regex_from_schema(json.dumps(schema))
    # Its automaton over single characters: enough to prove that the pattern compiles.
    signs = {chr(code): [code] for code in range(32, 127)} | {"\n": [10]}
    outlines.Index(pattern, outlines.Vocabulary(127, signs))
    return lambda text: re.fullmatch(pattern, text) is not None


ENGINES: dict[str, Callable[[dict[str, Any]], Matches]] = {
    "llama.cpp": compile_llama_cpp,
    "xgrammar": compile_xgrammar,
    "llguidance": compile_llguidance,
    "outlines-core": compile_outlines,
}


def _llguidance_matches(grammar: Any) -> Matches:
    """Return a function that matches a text against a grammar of llguidance; raise ValueError when it is refused."""
    llguidance = importlib.import_module("llguidance")
    tokenizer = llguidance.LLTokenizer("byte")
    if error := llguidance.LLMatcher.validate_grammar(grammar, tokenizer):
        raise ValueError(error)

    def matches(text: str) -> bool:
        matcher = llguidance.LLMatcher(tokenizer, grammar)
        given = tokenizer.tokenize_bytes(text.encode())
        return bool(matcher.consume_tokens(given)) and bool(matcher.is_accepting())

    return matches


def _import_xgrammar() -> Any:
    """Import xgrammar without PyTorch: it uses it for bit masks over a model's logits, and nothing of that is done."""
    for name in ("torch", "torch.utils", "torch.utils.cpp_extension", "transformers"):
        sys.modules.setdefault(name, _Absent(name))
    sys.modules["torch"].__dict__["cuda"] = SimpleNamespace(is_available=lambda: False)
    return importlib.import_module("xgrammar")


class _Absent(ModuleType):
    """A module in place of one that is not installed; whatever is asked of it is a class of its own."""

    def __getattr__(self, name: str) -> Any:
        """Return a new class, which may be called with anything: enough for annotations and constants."""
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__new__": lambda made, *_given, **_named: object.__new__(made)})


def main() -> None:
    """Read the request from stdin, and write what the engine on the command line makes of it to stdout."""
    request = json.load(sys.stdin)
    compile_schema = ENGINES[sys.argv[1]]
    made: dict[str, Any] = {}
    for name, schema in request["schemas"].items():
        try:
            matches = compile_schema(schema)
        except Exception as error:
            made[name] = f"{type(error).__name__}: {error}"[:500]
        else:
            made[name] = [matches(text) for text in request["texts"][name]]
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()
