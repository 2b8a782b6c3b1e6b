# The jobs of the test suite. `make check`, `make test` and `make test-all` call
#   make -f tests/suite.mk check|test|test-all [TESTS="nodes graph"]
# A test program is tests/NAME.c. It is built and run in each variant that names it below, again
# if a header, its source or the implementation has changed. A script is tests/NAME.sh. It runs
# again if any file has changed.

O   := build/tests
CC  ?= cc
CXX ?= g++
JOB := @sh tests/job.sh

# ---- The programs and the scripts

numbers := nodes layers optim graph kernels course_lines puzzles
words   := wrong cleared gradcheck printed formulas memory answers lab stepping device findings \
           looks guards notation equal lives derive
check   := $(patsubst %,double/%,$(numbers) $(words) silent sequences files)
test    := compile locale random examples readme claims cuda python formats c playground omp/kernels blas/kernels \
           $(patsubst %,asan/%,sequences $(numbers) $(words) files) $(check) \
           $(patsubst %,float/%,$(numbers) files doctor guards device trials derive) \
           own/stepping_debug own/alone
rest    := gpu fuzz learn grade handout platform-windows platform-arm64 platform-bits32 \
           platform-tcc mpi browser playground-page oracle onnx c-rest texts formats-rest \
           float/silent asan/silent asan/trials double/trials $(patsubst %,o3/%,nodes layers kernels optim) blas/layers blas/graph

# ---- The variants: flags of the implementation; flags of the test programs

sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all
flags_double := -O0 -DEDF_REAL=double
flags_float  := -O1
flags_asan   := -O0 -DEDF_REAL=double -g1 $(sanitize)
flags_omp    := -O1 -fopenmp -DEDF__REST=0
flags_blas    = -O1 -DEDF_REAL=double $(BLAS_CFLAGS)
flags_o3     := -O3 -march=native
libs_blas     = $(BLAS_LIBS)
own           = -O0 $(filter-out -O%,$(flags_$(1)))
variants     := double float asan omp blas o3

# A variant that this machine cannot build is skipped.
probe = $(shell mkdir -p $(O) && printf '\043include <$(1)>\nint main(void) { return 0; }\n' \
          > $(O)/probe.c && $(CC) $(2) $(O)/probe.c -o $(O)/probe 2>&1 && $(O)/probe || echo no)
lacks_asan := $(if $(call probe,stdio.h,$(sanitize)),$(CC) has no -fsanitize=address)
lacks_omp  := $(if $(call probe,omp.h,-fopenmp),$(CC) has no OpenMP)

$(O)/blas.mk: tests/blas.sh
	@mkdir -p $(@D)
	@CC='$(CC)' sh tests/blas.sh $(or $(filter-out none,$(BLAS)),openblas) > $@ || \
	  echo 'lacks_blas = no CBLAS was found' > $@
include $(O)/blas.mk

# ---- What make check, make test and make test-all run

jobs := $($(subst test-all,rest,$(firstword $(MAKECMDGOALS) test)))
ifneq ($(TESTS),)                              # also a job of test-all, if it is named
  of   = $(filter $(1) %/$(1),$(2))
  jobs := $(foreach t,$(TESTS),$(or $(call of,$(t),$(jobs)),$(call of,$(t),$(test) $(rest)),\
            $(error no test is called $(t))))
endif

check test test-all: $(jobs:%=$(O)/%.ok)
	@sh tests/job.sh --sum $(jobs)

# The CPU seconds of a run are collected in a file that is empty when the first job begins.
$(jobs:%=$(O)/%.ok) $(variants:%=$(O)/impl-%.ok) $(O)/native.ok: | started
started:
	@mkdir -p $(O)
	@: > $(O)/times
.PHONY: check test test-all names started
.SECONDARY:
.SUFFIXES:

# ---- The rules

headers := $(wildcard edf.h edf/*.h)
warn    := -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I. -Itests

define of_variant
$(O)/impl-$(1).ok: tests/impl.c $(headers)
	$$(if $$(lacks_$(1)),@touch $$@,$(JOB) impl-$(1) sh -c '$$(CC) $$(warn) $$(flags_$(1)) \
	  -c tests/impl.c -o $(O)/impl-$(1).o && echo ok compiles')

$(O)/$(1)/%.ok: tests/%.c $(O)/impl-$(1).ok $(wildcard tests/*.h)
	$$(if $$(lacks_$(1)),$(JOB) $(1)/$$* echo 'skip $(1)/$$*: $$(lacks_$(1))', \
	  $(JOB) $(1)/$$* sh -c '$$(CC) $$(warn) $$(call own,$(1)) $$< $(O)/impl-$(1).o \
	    -o $(O)/$(1)/$$* $$(libs_$(1)) -lm && $(O)/$(1)/$$*')
endef
$(foreach v,$(variants),$(eval $(call of_variant,$(v))))

# Its tests are the tables of the page.
$(foreach v,$(variants),$(O)/$(v)/notation.ok): notes/notation.md

# A program that contains the implementation itself.
$(O)/own/%.ok: tests/%.c $(headers) tests/harness.h
	$(JOB) own/$* sh -c '$(CC) $(warn) $(flags_double) $< -o $(O)/own/$* -lm && $(O)/own/$*'

# The scripts. Some of them use an implementation that is compiled for speed, native.o.
files   := $(wildcard edf* edf/* README.md Makefile tests/* tests/*/* examples/* notes/* notes/*/*)
command  = sh tests/$(1).sh $(O)/$(1)
export CC CXX CFLAGS BLAS_CFLAGS BLAS_LIBS

$(O)/native.ok: $(headers)
	$(JOB) native sh -c 'printf "\043define EDF_IMPLEMENTATION\n" > $(O)/native.c && \
	  for h in $(headers); do echo "\043include \"$$h\"" >> $(O)/native.c; done && $(CC) $(warn) -O2 -march=native -c $(O)/native.c -o $(O)/native.o && \
	  echo ok compiles'

$(O)/%.ok: tests/%.sh $(files) $(O)/native.ok
	$(JOB) $* $(call command,$*)
$(O)/learn.ok: $(files) $(O)/native.ok
	$(JOB) learn sh tests/examples.sh $(O)/learn learn
$(O)/gpu.ok: $(files) $(O)/native.ok
	$(JOB) gpu sh tests/cuda.sh $(O)/gpu rest
$(O)/formats-rest.ok: $(files)
	$(JOB) formats-rest sh tests/formats.sh $(O)/formats-rest rest
$(O)/c-rest.ok: $(files)
	$(JOB) c-rest sh tests/c.sh $(O)/c-rest rest
$(O)/random.ok: $(files)
	$(JOB) random sh tests/random/random.sh $(O)/random
$(O)/texts.ok: $(files)
	$(JOB) texts sh tests/random/random.sh $(O)/texts 2 4000
$(O)/readme.ok: $(files) $(O)/native.ok
	$(JOB) readme env HANDOUT_FLOAT=$(CURDIR)/$(O)/native.o \
	  HANDOUT_DIR=$(CURDIR)/$(O)/readme sh notes/handout.sh README.md
# It measures time, so it runs alone, after the others.
$(O)/playground-page.ok: $(files) | $(filter-out %/playground-page.ok,$(jobs:%=$(O)/%.ok))
	$(JOB) playground-page sh tests/playground.sh $(O)/playground-page page
$(O)/oracle.ok: $(files)
	$(JOB) oracle python3 tests/oracle.py --count 300
$(O)/platform-%.ok: $(files)
	$(JOB) platform-$* sh tests/platforms.sh $* $(O)/platform-$*

names:
	@echo $(test) $(rest)
