"""The contract suite of database engines; docs/engines.md shows how to run it on an engine of yours.

`KEYBENCH_CONTRACT=acme python -m pytest --pyargs keybench.testing.contract` asserts what the engine declares, and
nothing else.
"""
