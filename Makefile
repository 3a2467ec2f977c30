# Two commands set everything up: `make demo` and `make test`. Nothing outside this folder changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Without a C++ compiler on PATH, the `host` extra brings one as a Python package.
comma := ,
# The version that the tests know. From PyPI, PyTorch for Linux on x86-64 brings gigabytes of CUDA.
TORCH := torch==2.13.0
HOST := $(if $(shell command -v g++ || command -v clang++),,$(comma)host)

.DEFAULT_GOAL := help
.PHONY: help demo cpp-make cpp-cmake test frameworks deep check docs site pictures format clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 11

demo: $(VENV)/.installed ## Install, compile specs/gemm.tc to build/, verify the emitted kernel on this machine
	@mkdir -p build
	$(BIN)/tcc compile specs/gemm.tc --options specs/gemm.yaml -o build/gemm.cu \
	    --header build/gemm.h --ptx build/gemm.ptx
	$(BIN)/tcc verify specs/gemm.tc --options specs/gemm.yaml --device host
	@echo "build/gemm.cu, build/gemm.h and build/gemm.ptx are ready"

cpp-make: $(VENV)/.installed ## Build the C++ project of examples/cpp-make with make and nvcc
	$(MAKE) -C examples/cpp-make TCC=$(abspath $(BIN))/tcc

cpp-cmake: $(VENV)/.installed ## Build and test the C++ project of examples/cpp-cmake with CMake and nvcc
	cd examples/cpp-cmake && PATH="$(abspath $(BIN)):$$PATH" cmake --workflow --preset default

test: $(VENV)/.developed ## Run the whole test suite; needs no GPU
	$(BIN)/pytest -m "not slow" -n auto --dist worksteal

frameworks: $(VENV)/.developed ## Install PyTorch and JAX, whose tests are skipped without them, if PyTorch is small
	@plan=$$($(BIN)/pip install --dry-run --disable-pip-version-check $(TORCH)) || exit 1; \
	if echo "$$plan" | grep -q nvidia-; then \
	    echo "$(TORCH) would bring CUDA; a build for the CPU comes from https://download.pytorch.org/whl/cpu"; \
	    $(BIN)/pip install --quiet --disable-pip-version-check jax; \
	else \
	    $(BIN)/pip install --quiet --disable-pip-version-check $(TORCH) jax; \
	fi

deep: $(VENV)/.developed ## Run the slow tests: mutations, random campaigns, every size
	$(BIN)/pytest -m slow -n auto --dist worksteal

check: $(VENV)/.developed ## Check format, lint rules and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy tcc bench

docs: $(VENV)/.developed ## Write the generated parts of the documents anew
	$(BIN)/python -m tests.generate_docs
	$(BIN)/python -m tests.generate_grammar

site: $(VENV)/.developed ## Build the documents as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

pictures: $(VENV)/.developed ## Take the pictures of the documents anew; needs chromium
	$(BIN)/python -m tests.explain.make_pictures

format: $(VENV)/.developed ## Format the sources, and fix what can be fixed without a decision
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove everything that the other targets made
	rm -rf $(VENV) build examples/*/build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[nvrtc$(HOST)]'
	@touch $@

$(VENV)/.developed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[nvrtc$(HOST),dev]'
	@touch $(VENV)/.installed $@
