"""The contract suite of database engines. docs/engines.md shows how to run it on an engine of yours.

`KEYBENCH_CONTRACT=acme python -m pytest --pyargs keybench.databases.contract_suite` checks only what the engine
declares.
"""
