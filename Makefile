# The tools of the project's own environment if there is one, else those on the path.
BIN := $(if $(wildcard .venv/bin/python),.venv/bin/,)

.PHONY: check format-check lint types tests coverage format bench mutation

check: format-check lint types tests

format-check:
	$(BIN)ruff format --check .

lint:
	$(BIN)ruff check .

types:
	$(BIN)mypy

tests:
	$(BIN)pytest

# Branch coverage of engine and reference; the limit is in pyproject.toml.
coverage:
	$(BIN)coverage run -m pytest
	$(BIN)coverage report

format:
	$(BIN)ruff format .
	$(BIN)ruff check --fix .

# -s shows the printed figures above the table of times.
bench:
	$(BIN)pytest tests/benchmarks -s --benchmark-columns=median,iqr,rounds --benchmark-sort=name

# Mutates one module in a copy (MODULE=engine/row.py), or all; goes on where it stopped.
# Needs the extra mutation.
mutation:
	$(BIN)python -m tests.mutation $(MODULE)
