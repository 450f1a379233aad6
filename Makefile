# Two commands matter: `make run` and `make test`. Both need Python 3.11 or newer and nothing else.
PYTHON ?= python3
BIN := .venv/bin
RUNS := .venv/.installed
TESTS := .venv/.installed-for-tests
# The tests start Python some hundred times. Where it may keep no bytecode, each process compiles 300 modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-all test-containers contract servers lint kernels kernels-innodb kernels-others bench
.PHONY: fidelity study env clean

help:
	@echo "make run       the default run on embedded PostgreSQL and SQLite, then the path of its report"
	@echo "make test      lint and tests (with the servers that they need); make test-all adds the long ones"
	@echo "make test-containers  tests on a real Docker daemon, which it starts for itself (root; the first time some minutes)"
	@echo "make contract  the contract suite, on every server that can be started here, without containers;"
	@echo "               DB='mariadb postgresql=local' runs it on these alone, DB=postgresql://me@db.example/bench on yours (password in KEYBENCH_PASSWORD)"
	@echo "make bench     speed of the harness beside native tools and physical limits"
	@echo "make fidelity  page models beside every server that can be started here, and every version that"
	@echo "               sh scripts/versions.sh has unpacked (20 minutes for each);"
	@echo "               DB=mysql SERVER=container ROWS=100000 has it compare this server alone, with fewer rows"
	@echo "make study     the runs of the study again, with what they cost in hours; it goes on where it was stopped"
	@echo "make env       the environment alone, in .venv"

env: $(TESTS)

# What a run needs is a fifth of what the tests need.
$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "keybench needs Python 3.11 or newer; $(PYTHON) is older: make PYTHON=/path/to/python3.11 …" >&2; exit 4; }
	@sh scripts/install.sh $(PYTHON) embedded
	@touch $@

$(TESTS): $(RUNS)
	@sh scripts/install.sh $(PYTHON) embedded,dev
	@touch $@

run: $(RUNS)
	@$(BIN)/keybench run; code=$$?; \
	  if [ $$code -le 1 ]; then $(BIN)/keybench report latest -o report.html || exit $$?; fi; exit $$code

servers: env
	@sh scripts/servers.sh

# mypy and the two halves of the kernels take as long as one another. tests/conftest.py orders the test files.
test: servers
	@$(MAKE) --no-print-directory --jobs 3 lint kernels
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -m "not long"

test-all: servers lint
	$(BIN)/python -m pytest
	@sh scripts/test-containers.sh --if-possible

# A Docker daemon of this checkout's own, images made from Debian's packages, and the tests on them.
test-containers: env
	@sh scripts/test-containers.sh

contract: export KEYBENCH_CONTRACT := $(or $(DB),$(KEYBENCH_CONTRACT))
contract: env
	$(BIN)/python -m pytest databases/contract_suite

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p keybench -p benchmarks

# Compiles the loops of all page models once; otherwise two test processes would compile them at the same time. InnoDB's
# are half of them.
kernels: kernels-innodb kernels-others

COMPILE = $(BIN)/keybench run --server model --layout uuid-v4 --blocks 1 --results build/$@.sqlite
LOAD = --scenario quick --rows 2000 --payload 100,0-200
COST = --scenario quick --rows 20000 --ram 2MB
PAST = --scenario scripts/past.toml
UPDATES = --db postgresql,sqlite --scenario scripts/updates.toml
CHILDREN = --db postgresql --scenario fk-index --rows 2000
OTHERS = $$($(BIN)/python -c 'from keybench.databases.registry import engines; \
  print(",".join({on.name for on in engines().values() if on.has_page_model} - {"mariadb", "mysql"}))')

kernels-innodb: env
	-@mkdir -p build && rm -f build/$@.sqlite && $(COMPILE) --db mariadb,mysql $(LOAD) >build/$@.log && \
	  $(COMPILE) --db mariadb $(COST) >>build/$@.log && $(COMPILE) --db mariadb,mysql $(PAST) >>build/$@.log

kernels-others: env
	-@mkdir -p build && rm -f build/$@.sqlite && $(COMPILE) --db $(OTHERS) $(LOAD) >build/$@.log && \
	  $(COMPILE) --db $(OTHERS) $(COST) >>build/$@.log && $(COMPILE) --db $(OTHERS) $(PAST) >>build/$@.log && \
	  $(COMPILE) $(CHILDREN) >>build/$@.log && { $(COMPILE) $(UPDATES) >>build/$@.log 2>&1 || true; }

bench: env
	$(BIN)/python -m benchmarks

fidelity: $(if $(SERVER),env,servers)
	$(BIN)/python -m benchmarks.fidelity $(DB:%=--db %) $(ROWS:%=--rows %) $(SERVER:%=--server %)

study: servers
	$(BIN)/python -m scripts.study

clean:
	@[ ! -e build/docker/pid ] || sh scripts/containers/daemon.sh stop
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
