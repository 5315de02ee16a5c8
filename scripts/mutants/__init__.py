"""Mutation testing with Cosmic Ray (docs/decisions/0022-mutation-testing.md): which mutants there are, what the mapped
tests say to each, and the report in docs/mutants.md. Not part of the package; `make mutants` runs it."""
