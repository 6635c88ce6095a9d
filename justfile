fmt:
    ruff format . && ruff check --fix .
lint:
    ruff format --check . && ruff check . && lint-imports
type:
    mypy -p hmem && mypy
test *args:
    pytest {{args}}
perf *args:
    python -m benchmarks_perf {{args}}
