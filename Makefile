# edf.h needs no make: cc -g hw1.c -lm is enough. This file runs examples, tests and benchmarks.
# Everything that is built is in build/.

CC       ?= cc
CFLAGS   ?= -O3 -march=native
WARNINGS  = -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion
NVCC     ?= $(or $(shell command -v nvcc),/usr/local/cuda/bin/nvcc)
BLAS     ?= none
EXAMPLE  ?= 03_mnist
NAMES     = $(patsubst examples/%.c,%,$(wildcard examples/[0-9]*.c))
SEED      = 1
COUNT     = 300

.DEFAULT_GOAL = help
.PHONY: help run examples check test test-all oracle mutants doctor bench notes handout \
        playground pictures grade lines one clean

help:
	@echo 'make run        train the 784-64-10 network on handwritten digits: examples/03_mnist.c'
	@echo '                EXAMPLE=07: another example; ARGS=...: arguments of the program'
	@echo '                EDF_DATA=dir: IDX files, plain or .gz; EDF_TEXT=file: a text'
	@echo 'make examples   build all examples: $(NAMES)' | fold -s -w 78
	@echo 'make check      the tests in double at -O0, while you write; TESTS="nodes graph"'
	@echo 'make test       the tests; TESTS="nodes graph"'
	@echo 'make test-all   the other tests: platforms, fuzzing, the GPU emulation'
	@echo 'make oracle     compare random programs with version 3.0; SEED=1 COUNT=300'
	@echo 'make mutants    put mistakes into edf.h: do the tests find them? ARGS="34 60"'
	@echo 'make doctor     how often is edf/doctor.h right? Two minutes'
	@echo 'make bench      time of a step; MODELS="mlp_a lenet lstm gpt"; see bench/README.md'
	@echo 'make notes      the lecture notes as one page, build/notes.html'
	@echo 'make playground type a slide in the browser: build/playground.html'
	@echo 'make pictures   draw the pictures of the README and the notes again'
	@echo 'make handout    run the programs on a page and compare the output; FILE=page.md'
	@echo 'make grade      grade a problem set; PS=1 FILE=ps1.c ID=you'
	@echo 'make one        all headers in one file, build/edf_all.h'
	@echo 'make lines      the length of each chapter'
	@echo 'make clean      remove build/'
	@echo 'Settings: CC=, CFLAGS=, BLAS=openblas (or blis, cblas), CUDA=1 (GPU; CUDA_ARCH=90)'

# ---- The settings that change what is built: the flags of a CBLAS and of the GPU backend. Four
# goals compile nothing. Flags in the environment do not count.

BLAS_CFLAGS =
BLAS_LIBS   =
BLAS_ENV    =
ifneq ($(filter-out help lines one clean,$(or $(MAKECMDGOALS),help)),)
ifneq ($(BLAS),none)
  $(shell mkdir -p build && CC='$(CC)' sh tests/blas.sh $(BLAS) > build/blas.mk)
  include build/blas.mk
  $(if $(BLAS_LIBS),,$(error BLAS=$(BLAS): this library does not compile and link))
endif
ifneq ($(filter-out 0,$(CUDA)),)
  CUDA_ROOT := $(realpath $(shell $(NVCC) --dryrun -c edf_cuda.cu 2>&1 | sed -n 's/.*TOP=//p'))
  $(if $(CUDA_ROOT),,$(error CUDA=1: $(NVCC) does not run. NVCC=path names the compiler))
  GPU       := build/edf_cuda.o
  GPU_LIBS  := -L$(CUDA_ROOT)/lib64 -Wl,-rpath,$(CUDA_ROOT)/lib64 -lcublas -lcudart -lstdc++
endif
FLAGS  := $(CC) $(CFLAGS) $(BLAS_CFLAGS) $(GPU_LIBS) $(BLAS_LIBS)
$(shell mkdir -p build && echo '$(FLAGS)' | cmp -s - build/flags || echo '$(FLAGS)' > build/flags)
endif
LIBS    = $(GPU_LIBS) $(BLAS_LIBS) -lm
ENV     = OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BLAS_ENV)

# ---- The examples. They link the implementation, which takes longer to compile than they do.

DOUBLE := $(patsubst examples/%.c,build/%,$(shell grep -l '^.define EDF_REAL double' \
            examples/[0-9]*.c))
$(DOUBLE): build/edf_double.o $(GPU:.o=_double.o)
$(filter-out $(DOUBLE),$(NAMES:%=build/%)): build/edf.o $(GPU)

COMPANIONS = $(wildcard edf/*.h)
HEADERS    = edf.h $(COMPANIONS)
build/edf.o build/edf_double.o: $(HEADERS) build/flags
	@printf '#define EDF_IMPLEMENTATION\n$(COMPANIONS:%=#include "%"\n)' > $(@:.o=.c)
	$(CC) $(WARNINGS) $(CFLAGS) $(BLAS_CFLAGS) $(if $(findstring double,$@),-DEDF_REAL=double) \
	  -I. -c $(@:.o=.c) -o $@

build/%: examples/%.c $(wildcard examples/*.h) build/flags
	$(CC) $(WARNINGS) $(CFLAGS) -DEDF_LINKED -I. -o $@ $< $(filter build/edf%.o,$^) $(LIBS)

build/edf_cuda.o build/edf_cuda_double.o: edf_cuda.cu $(HEADERS)
	$(NVCC) -std=c++17 -O3 $$(CUDA_ARCH='$(CUDA_ARCH)' sh tests/cuda/arch.sh) \
	  $(if $(findstring double,$@),-DEDF_REAL=double) -c $< -o $@

examples: $(NAMES:%=build/%)

CHOSEN = $(filter $(EXAMPLE) $(EXAMPLE)_% 0$(EXAMPLE)_%,$(NAMES))
ifneq ($(and $(filter run,$(MAKECMDGOALS)),$(filter-out 1,$(words $(CHOSEN)))),)
  $(error EXAMPLE=$(EXAMPLE): expected the number or the name of one of $(NAMES))
endif

# The programs read plain files. If EDF_DATA has packed ones, they are unpacked to build/mnist.
PACKED = $(wildcard $(EDF_DATA)/*.gz)
DATA   = $(if $(PACKED),EDF_DATA=build/mnist)
build/mnist: $(PACKED)
	@mkdir -p $@
	@for f in $^; do gzip -dc "$$f" > $@/$$(basename "$$f" .gz) || exit 1; done

run: build/$(CHOSEN) $(if $(PACKED),build/mnist)
	@$(ENV) $(DATA) build/$(CHOSEN) $(ARGS)

# ---- Tests and benchmarks

JOBS = $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
check test test-all: $(if $(PACKED),build/mnist)
	@$(ENV) $(DATA) $(MAKE) -s --no-print-directory -j$(JOBS) -f tests/suite.mk $@ \
	  TESTS='$(TESTS)' CC='$(CC)' BLAS='$(BLAS)'

oracle:
	@CC='$(CC)' python3 tests/oracle.py --seed $(SEED) --count $(COUNT) $(ARGS)

mutants:
	@CC='$(CC)' sh bench/mutants/mutants.sh $(ARGS)

doctor:
	@for half in open locked; do echo "-- $$half"; CC='$(CC)' sh bench/doctor/bench.sh $$half; done

build/bench: bench/bench.c $(wildcard bench/*.h) $(HEADERS) build/flags
	$(CC) $(WARNINGS) $(CFLAGS) $(BLAS_CFLAGS) -I. -o $@ $< $(BLAS_LIBS) -lm

bench: build/bench $(if $(PACKED),build/mnist)
	@CC='$(CC)' CFLAGS='$(CFLAGS)' BLAS_CFLAGS='$(BLAS_CFLAGS)' BLAS_LIBS='$(BLAS_LIBS)' \
	  REV='$(REV)' $(ENV) $(DATA) sh bench/run.sh $(MODELS)

# ---- The notes and the problem sets: notes/assignments/README.md

notes:
	@mkdir -p build && sh notes/book.sh build/notes.html && echo 'built build/notes.html'

playground:
	@sh notes/playground/build.sh build/playground.html && echo 'built build/playground.html'

# Pillow and Playwright are in build/venv; Chromium is the system's.
pictures: playground
	@build/venv/bin/python -c 'import PIL, playwright' 2> /dev/null || \
	  { python3 -m venv build/venv && build/venv/bin/pip install -q pillow playwright; }
	@mkdir -p notes/pictures && build/venv/bin/python notes/pictures.py build/playground.html notes/pictures
	@sh notes/handout.sh --write $$(grep -l '^!.*[.]\(svg\|png\))$$' notes/*.md) | grep picture

handout:
	@CC='$(CC)' sh notes/handout.sh $(or $(FILE),README.md notes/*.md notes/answers/*.md)

# A student may choose ID and FILE, and make would run what is in $().
ifneq ($(strip $(foreach v,ID FILE,$(findstring $$,$(value $v))$(findstring ',$(value $v)))),)
  $(error ID and FILE must not contain $$ or ')
endif
grade:                                   # The inner make gets ARGS from this one.
	@$(MAKE) -s -C notes/assignments grade CC='$(CC)' ID='$(ID)' PS='$(PS)' \
	  $(if $(FILE),FILE='$(FILE)') FROM='$(or $(PWD),$(CURDIR))'

lines:
	@awk '/^\/\* ==== >>/ { name = substr($$3, 3) } FNR == 1 { name = "first pages" } \
	  { n[FILENAME " " name]++; sum[FILENAME]++; if (!seen[FILENAME " " name]++) \
	    order[++k] = FILENAME " " name } \
	  END { for (i = 1; i <= k; i++) printf "%6d  %s\n", n[order[i]], order[i]; \
	    for (f in sum) printf "%6d  %s\n", sum[f], f }' $(HEADERS) $(wildcard edf_cuda.cu)

# An include of another header, with the #if around it, is not needed in one file.
ONE = build/edf_all.h
one:
	@mkdir -p $(dir $(ONE))
	@sed '/^#if !defined(EDF_[A-Z0-9_]*H) ||/,/^#endif/d' edf.h \
	  $(patsubst %,edf/%.h,slide layers judge derive data onnx c doctor lab) > $(ONE) && echo 'wrote $(ONE)'

clean:
	rm -rf build
