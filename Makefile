# edf.h needs no make: cc -g hw1.c -lm is enough. This file runs examples, tests and benchmarks.
#   make run BLAS=none     without a CBLAS; BLAS=openblas, blis, cblas, blas: this one, no other
#   make CC=clang CFLAGS='-O2 -g'
# Everything that is built lies in build/.

CC       ?= cc
CFLAGS   ?= -O3 -march=native
WARNINGS  = -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion
DEBUG     = -O0 -g3
SECONDS   = 20
MODELS    =
EXAMPLE   = 03_mnist
NAMES     = $(patsubst examples/%.c,%,$(wildcard examples/[0-9]*.c))
EXAMPLES  = $(NAMES:%=build/%)
.DEFAULT_GOAL = help

# A CBLAS is looked for at every call that needs one. BLAS_CFLAGS, BLAS_LIBS and BLAS_ENV, the
# settings it wants in the environment, can be given on the command line instead.
ifneq ($(filter-out help clean lines mnist,$(or $(MAKECMDGOALS),help)),)
  $(shell mkdir -p build && CC='$(CC)' sh tests/blas.sh $(BLAS) > build/blas.mk)
  include build/blas.mk
  ifeq ($(BLAS_FOUND),missing)
    $(error make BLAS=$(BLAS): it does not compile and link; BLAS=none does without)
  endif
  $(info BLAS: $(BLAS_FOUND))
endif

COMPILE = $(CC) $(WARNINGS) $(CFLAGS) $(BLAS_CFLAGS) -I. -o $@ $< $(BLAS_LIBS) -lm
SERIAL  = OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 OMP_NUM_THREADS=1
ENV     = $(SERIAL) $(BLAS_ENV)

# Programs are built again when the flags, or the library, are others than last time.
FLAGS  := $(CC) $(CFLAGS) $(BLAS_CFLAGS) $(BLAS_LIBS)
ifneq ($(BLAS_NAME),)
  $(shell echo '$(FLAGS)' | cmp -s - build/flags || echo '$(FLAGS)' > build/flags)
endif

.PHONY: help run examples debug mnist test fuzz bench lines clean

help:
	@echo 'make run        train the 784-64-10 network on handwritten digits: examples/03_mnist.c'
	@echo '                EDF_DATA=dir takes the IDX files there, plain or .gz; else data/mnist,'
	@echo '                else digits drawn by the program; ARGS=... goes to the program'
	@echo 'make run EXAMPLE=07     another; EDF_TEXT=file: the text for a language model'
	@echo '$(NAMES)' | fold -s -w 60 | sed 's/^/                /'
	@echo 'make mnist      download MNIST to data/mnist'
	@echo 'make examples   build all examples; make debug: the same with $(DEBUG)'
	@echo 'make test       all tests, or TESTS="nests errors"'
	@echo 'make fuzz       SECONDS=60: fuzz the parsers, so long each'
	@echo 'make bench      time of a step against its BLAS calls alone, threads, memory;'
	@echo '                MODELS="mlp_a lenet lstm gpt threads memory"'
	@echo 'make lines      size of edf.h and of its core'
	@echo 'make clean      remove build/'
	@echo 'BLAS=none, openblas, blis ...: which CBLAS; CC=, CFLAGS=: compiler and its flags'

# ---- The examples

build/%: examples/%.c edf.h $(wildcard examples/*.h) build/flags
	$(COMPILE)

examples: $(EXAMPLES)

debug:
	@$(MAKE) --no-print-directory CFLAGS='$(DEBUG)' examples

# The programs read plain files. Where EDF_DATA has packed ones, they get build/mnist instead.
PACKED = $(wildcard $(EDF_DATA)/*.gz)
DATA   = $(if $(PACKED),EDF_DATA=build/mnist)

# Its number is enough.
CHOSEN = $(filter $(EXAMPLE) $(EXAMPLE)_% 0$(EXAMPLE)_%,$(NAMES))
ifneq ($(words $(CHOSEN)),1)
  $(error EXAMPLE=$(EXAMPLE): expected the number or the name of one of $(NAMES))
endif

run: build/$(CHOSEN) $(if $(PACKED),unpack)
	@$(ENV) $(DATA) build/$(CHOSEN) $(ARGS)

.PHONY: unpack
unpack:
	@mkdir -p build/mnist
	@for f in $(PACKED); do gzip -dc "$$f" > build/mnist/$$(basename "$$f" .gz) || exit 1; done

mnist:
	@sh examples/mnist.sh data/mnist

# ---- Checking

export CC CFLAGS BLAS_CFLAGS BLAS_LIBS BLAS_ENV
test: $(if $(PACKED),unpack)
	@$(ENV) $(DATA) sh tests/run.sh $(TESTS)

fuzz:
	@FUZZ_SECONDS=$(SECONDS) sh tests/fuzz.sh

build/bench: tests/bench/bench.c $(wildcard tests/bench/*.h) edf.h build/flags
	$(COMPILE)

bench: build/bench $(if $(PACKED),unpack)
	@$(ENV) $(DATA) sh tests/bench/run.sh $(MODELS)

lines:
	@awk -f tests/lines.awk edf.h

clean:
	rm -rf build
