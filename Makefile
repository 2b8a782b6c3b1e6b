# edf.h needs no make: cc -g hw1.c -lm is enough. This file runs examples, tests and benchmarks.
#   make run BLAS=none     without a CBLAS; BLAS=openblas, blis, cblas, blas: this one, no other
#   make run BLAS=any      with the first CBLAS that works, be it the quicker or not
#   make CC=clang CFLAGS='-O2 -g'
#   make run CUDA=1        on the GPU: linked with edf_cuda.cu, by nvcc; CUDA_ARCH=90
# Everything that is built lies in build/.

CC       ?= cc
CFLAGS   ?= -O3 -march=native
WARNINGS  = -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion
DEBUG     = -O0 -g3
SECONDS   = 20
SEED      = 34
COUNT     = 150
MODELS    =
RANKS     = 4
PAIRS     = 31
NVCC     ?= nvcc
EXAMPLE   = 03_mnist
NAMES     = $(patsubst examples/%.c,%,$(wildcard examples/[0-9]*.c))
EXAMPLES  = $(NAMES:%=build/%)
.DEFAULT_GOAL = help

# A CBLAS is looked for at every call that needs one, and left alone where the built-in kernel
# is as quick: tests/blas.sh. Tests need one, quick or not. BLAS_CFLAGS, BLAS_LIBS and BLAS_ENV,
# the settings it wants in the environment, can be given on the command line instead.
WITHOUT_BLAS = help clean debug handout notes lines mnist cuda bench-compile grade kit
ifneq ($(filter-out $(WITHOUT_BLAS),$(or $(MAKECMDGOALS),help)),)
  BLAS_ANY   = $(filter test test-all fuzz mutants,$(MAKECMDGOALS)) \
               $(filter command,$(origin BLAS_LIBS))
  WHICH_BLAS = $(or $(BLAS),$(if $(strip $(BLAS_ANY)),any))
  $(shell mkdir -p build && CC='$(CC)' CFLAGS='$(CFLAGS)' sh tests/blas.sh $(WHICH_BLAS) \
    > build/blas.mk)
  include build/blas.mk
  ifeq ($(BLAS_FOUND),missing)
    $(error make BLAS=$(BLAS): it does not compile and link; BLAS=none does without)
  endif
  $(info BLAS: $(BLAS_FOUND))
endif

# With CUDA=1 programs get the GPU's backend, and find the toolkit's libraries where nvcc is.
ifneq ($(filter-out 0,$(CUDA)),)
  CUDA_ROOT = $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
  GPU       = build/edf_cuda.o
  GPU_LIBS  = $(GPU) -L$(CUDA_ROOT)/lib64 -Wl,-rpath,$(CUDA_ROOT)/lib64 -lcublas -lcudart \
              -lstdc++
endif

COMPILE = $(CC) $(WARNINGS) $(CFLAGS) $(BLAS_CFLAGS) -I. -o $@ $< $(GPU_LIBS) $(BLAS_LIBS) -lm
SERIAL  = OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 OMP_NUM_THREADS=1
ENV     = $(SERIAL) $(BLAS_ENV)

# Programs are built again when the flags, or the library, are others than last time.
FLAGS  := $(CC) $(CFLAGS) $(BLAS_CFLAGS) $(GPU_LIBS) $(BLAS_LIBS)
ifneq ($(BLAS_NAME),)
  $(shell echo '$(FLAGS)' | cmp -s - build/flags || echo '$(FLAGS)' > build/flags)
endif

.PHONY: help run examples debug mnist test test-all fuzz mutants bench bench-against \
        bench-compile bench-lines bench-peers handout notes lines page clean cuda bench-cuda \
        mpi grade kit

help:
	@echo 'make run        train the 784-64-10 network on handwritten digits: examples/03_mnist.c'
	@echo '                EDF_DATA=dir takes the IDX files there, plain or .gz; else data/mnist,'
	@echo '                else digits drawn by the program; ARGS=... goes to the program'
	@echo 'make run EXAMPLE=07     another; EDF_TEXT=file: the text for a language model'
	@echo '$(NAMES)' | fold -s -w 60 | sed 's/^/                /'
	@echo 'make mnist      download MNIST to data/mnist'
	@echo 'make examples   build all examples; make debug: the same with $(DEBUG)'
	@echo 'make test       the tests, four minutes; TESTS="nests mpi": these alone'
	@echo 'make test-all   what make test leaves out: edf_cuda.cu, fuzzing, platforms, mutants'
	@echo 'make fuzz       SECONDS=60: fuzz the parsers, so long each'
	@echo 'make mutants    SEED=34 COUNT=150: does make test notice mistakes in the headers?'
	@echo 'make bench      time of a step; BLAS=openblas: against its BLAS calls alone; threads,'
	@echo '                memory; MODELS="mlp_a lenet lstm gpt scale shapes threads memory"'
	@echo 'make bench-lines    time of a step of models written as lines over that of layers'
	@echo 'make bench-against REV=COMMIT    time of a step over that of another commit; PAIRS=31'
	@echo 'make bench-compile REV=COMMIT    CPU seconds to compile edf.h over those of another'
	@echo 'make bench-peers    time of a step beside PyTorch, which build/peers gets: 5 GB'
	@echo 'make cuda       build/edf_cuda.o: link it, and the kernels run on the GPU;'
	@echo '                make run CUDA=1 does. CUDA_ARCH=90, NVCC=path'
	@echo 'make bench-cuda time of a step on the GPU, and PyTorch beside it'
	@echo 'make mpi        RANKS=4: examples/mpi_mnist.c by several processes (Open MPI)'
	@echo 'make handout    FILE=page.md: runs the blocks of a page, and compares what they print'
	@echo 'make notes      the lecture notes as a book, build/notes.html (pandoc)'
	@echo 'make grade      PS=1 FILE=ps1.c ID=you: grades a problem set; make kit PS=1 OUT=dir'
	@echo '                packs it for students; make handout PS=1 ID=you: with your numbers'
	@echo 'make lines      lines of each chapter against its ceiling'
	@echo 'make page       puts notes/trace.html, the page of edf_trace_begin, into edf_lab.h'
	@echo 'make clean      remove build/'
	@echo 'BLAS=none, openblas, blis ...: which CBLAS; else the first found, where it is quicker'
	@echo '                than the built-in kernel. CC=, CFLAGS=: compiler and its flags'

# ---- The examples

# They link the implementation, which takes longer to compile than all of them together. Their
# text stays what a student compiles alone: -DEDF_LINKED leaves out what it asks for.
IN_DOUBLE := $(patsubst examples/%.c,build/%,$(shell grep -l '^.define EDF_REAL double' \
               examples/[0-9]*.c))
$(IN_DOUBLE): build/edf_double.o
$(filter-out $(IN_DOUBLE),$(EXAMPLES)): build/edf.o

WITH_LAB  := $(patsubst examples/%.c,build/%,$(shell grep -l 'edf_lab.h' examples/[0-9]*.c))
$(filter $(IN_DOUBLE),$(WITH_LAB)): build/edf_lab_double.o
$(filter-out $(IN_DOUBLE),$(WITH_LAB)): build/edf_lab.o

build/edf.o build/edf_double.o: edf.h build/flags
	@printf '#define EDF_IMPLEMENTATION\n#include "edf.h"\n' > $(@:.o=.c)
	$(CC) $(OBJECT)

build/edf_lab.o build/edf_lab_double.o: edf.h edf_lab.h build/flags
	@printf '#define EDF_LAB_IMPLEMENTATION\n#include "edf_lab.h"\n' > $(@:.o=.c)
	$(CC) $(OBJECT)
OBJECT = $(WARNINGS) $(CFLAGS) $(BLAS_CFLAGS) $(if $(findstring double,$@),-DEDF_REAL=double) \
         -I. -c $(@:.o=.c) -o $@

build/%: examples/%.c $(wildcard examples/*.h) build/flags $(GPU)
	$(CC) $(WARNINGS) $(CFLAGS) -DEDF_LINKED -I. -o $@ $< \
	  $(filter build/edf.o build/edf_lab.o %double.o,$^) $(GPU_LIBS) $(BLAS_LIBS) -lm

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

# ---- The GPU, and several processes

cuda: build/edf_cuda.o
	@echo 'built build/edf_cuda.o: cc train.c build/edf_cuda.o -lcublas -lcudart -lstdc++ -lm'

build/edf_cuda.o: edf_cuda.cu edf.h tests/cuda/arch.sh build/cuda_flags
	@command -v $(NVCC) > /dev/null || { echo 'make: $(NVCC), the CUDA compiler, was not found:' \
	  'install the CUDA toolkit, or NVCC=path; all else builds without it'; exit 1; }
	arch=$$(CUDA_ARCH='$(CUDA_ARCH)' sh tests/cuda/arch.sh) && \
	  $(NVCC) -std=c++17 -O3 $$arch -c $< -o $@

build/cuda_flags: FORCE                    # another kind of GPU: built again
	@mkdir -p build
	@echo '$(NVCC) $(CUDA_ARCH)' | cmp -s - $@ || echo '$(NVCC) $(CUDA_ARCH)' > $@

FORCE:

bench-cuda:
	@CC='$(CC)' NVCC='$(NVCC)' CUDA_ARCH='$(CUDA_ARCH)' sh tests/bench/cuda.sh $(ARGS) $(MODELS)

# Several processes, more than cores too. Root must allow it: mpirun's message says how.
build/mpi_mnist: examples/mpi_mnist.c edf.h edf_lab.h $(wildcard examples/*.h) build/flags
	OMPI_CC='$(CC)' mpicc $(WARNINGS) $(CFLAGS) $(BLAS_CFLAGS) -I. -o $@ $< $(BLAS_LIBS) -lm

mpi: build/mpi_mnist $(if $(PACKED),unpack)
	@$(ENV) $(DATA) OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n $(RANKS) $< $(ARGS)

# ---- Checking

export CC CFLAGS BLAS_CFLAGS BLAS_LIBS BLAS_ENV
RUN_TESTS = @$(ENV) $(DATA) MAKE='$(MAKE)' sh tests/run.sh
test: $(if $(PACKED),unpack)
	$(RUN_TESTS) quick $(TESTS)

test-all: $(if $(PACKED),unpack)
	$(RUN_TESTS) rest $(TESTS)

fuzz:
	@FUZZ_SECONDS=$(SECONDS) MAKE='$(MAKE)' sh tests/run.sh rest fuzz

mutants:
	@$(ENV) sh tests/mutants.sh $(SEED) $(COUNT)

build/bench: tests/bench/bench.c $(wildcard tests/bench/*.h) edf.h build/flags
	$(COMPILE)

bench: build/bench $(if $(PACKED),unpack)
	@$(ENV) $(DATA) sh tests/bench/run.sh $(MODELS)

bench-lines: build/bench
	@$(ENV) build/bench lines

bench-against:
	@$(ENV) REV='$(REV)' PAIRS='$(PAIRS)' sh tests/bench/against.sh $(MODELS)

bench-peers: build/bench
	@$(ENV) sh tests/bench/peers.sh $(MODELS)

bench-compile:
	@REV='$(REV)' sh tests/bench/compile.sh

# Pages whose blocks run, and whose output is right: FILE=page.md, or all of them. With PS, the
# handout of a problem set with the numbers of an ID.
handout:
ifeq ($(PS),)
	@CC='$(CC)' sh notes/handout.sh $(or $(FILE),README.md notes/*.md tests/notes/*.md)
else
	$(ASSIGNMENTS)
endif

# Problem sets: notes/assignments/README.md.
# They may be of a student's choice: make would run what stands in $().
ifneq ($(strip $(foreach v,ID FILE,$(findstring $$,$(value $v))$(findstring ',$(value $v)))),)
  $(error ID and FILE have neither a $$ nor a ' in them)
endif
ASSIGNMENTS = @$(MAKE) -s -C notes/assignments $@ CC='$(CC)' ID='$(ID)' ARGS='$(ARGS)' \
              $(PS:%=PS='%') $(if $(FILE),FILE='$(abspath $(FILE))') \
              $(if $(OUT),OUT='$(abspath $(OUT))')
grade kit:
	$(ASSIGNMENTS)

notes: build/notes.html
	@echo 'built build/notes.html'
build/notes.html: notes/book.sh notes/book.css $(wildcard notes/*.md notes/*.svg notes/*.png)
	@mkdir -p build
	@sh notes/book.sh $@

lines:
	@awk -f tests/lines.awk tests/lines.txt edf.h edf_lab.h

page:
	@mkdir -p build
	@awk -v prefix=edf_lab__ -f notes/embed.awk notes/trace.html edf_lab.h > build/page.h
	@cmp -s build/page.h edf_lab.h || cat build/page.h > edf_lab.h

clean:
	rm -rf build
