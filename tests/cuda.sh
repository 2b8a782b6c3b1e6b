#!/bin/sh
# edf_cuda.cu on the GPU that tests/cuda/shim emulates: its numbers are the CPU's in every mode,
# and errors are named. nvcc compiles the same file.
#   sh tests/cuda.sh [DIRECTORY [quick|rest]]          for what is built

cd "$(dirname "$0")/.." || exit 1
out=${1:-build/tests/cuda} set=${2:-quick}
mkdir -p "$out"
has() { command -v "$1" > /dev/null 2>&1; }
cxx=${CXX:-g++} cc=${CC:-cc}
has clang && cc=clang                          # the faster compilers at -O0
has clang++ && cxx=clang++
has $cxx || { echo 'skip cuda: no C++ compiler'; exit; }
bad=0

ok() { echo "ok cuda-$1"; }
not_ok() {                                     # not_ok NAME WHY [FILE]
  bad=1
  echo "not ok cuda-$1: $2"
  [ -z "$3" ] || grep -v -e '^edf: GPU: ' -e '^edf: note: node' "$3" | tail -n 6 |
    cut -c 1-200 | sed 's/^/  /'
}

build() {                                      # build REAL OPTIMISATION: small and its .o
  warn='-Wall -Wextra -Werror'
  $cc -std=c99 $warn -Wpedantic -Wshadow -Wconversion -O0 -DEDF_REAL=$1 -I. \
    -c tests/cuda/small.c -o "$out/small.o" > "$out/log" 2>&1 &&
  $cxx -std=c++17 $warn $2 -DEDF_REAL=$1 -Itests/cuda/shim -I. -x c++ -c edf_cuda.cu \
    -o "$out/$1.o" >> "$out/log" 2>&1 &&
  $cxx "$out/small.o" "$out/$1.o" -o "$out/small.$1" -lm >> "$out/log" 2>&1 && return
  not_ok "builds-$1" 'a compiler stops' "$out/log"
  return 1
}

agrees() {                                     # agrees NAME REAL SETTINGS TOLERANCE MODELS
  log=$out/agrees-$1
  env $3 timeout 200 "$out/small.$2" $5 > "$log" 2> "$log.err"
  status=$?
  if [ $status != 0 ]; then not_ok "$1" "exit status $status" "$log.err"
  elif ! sh tests/cuda/same.sh "$out/right.$2" "$log" $4 > "$log.why"
  then not_ok "$1" differs "$log.why"
  else ok "$1"; fi
}

right() {                                      # right REAL MODELS: the CPU's numbers
  real=$1; shift
  EDF_DEVICE=cpu "$out/small.$real" "$@" > "$out/right.$real" && return
  not_ok cpu 'small.c fails on the CPU'
  exit 1
}

export DIGITS=17
build float -O1 || exit 1
if [ $set != rest ]; then
  right float small gemm_conv
  agrees agrees float CUDASHIM_LEAKS=1 1e-5 'small gemm_conv'
  exit $bad
fi

# ---- Every mode gives the same bits, and double the same numbers

right float
agrees agrees float 'CUDASHIM_LEAKS=1 CUDASHIM_STATS=1' 1e-5
agrees reversed float 'CUDASHIM_LEAKS=1 CUDASHIM_ORDER=rev' 1e-5
agrees eager-copies float 'CUDASHIM_LAZY=0 CUDASHIM_ORDER=7 CUDASHIM_REUSE=1' 1e-5
agrees not-recorded float 'EDF_GRAPHS=0 CUDASHIM_REUSE=1' 1e-5
agrees tf32 float EDF_PRECISION=tf32 1e-5 'heads gemm_conv'
for each in reversed eager-copies not-recorded; do
  cmp -s "$out/agrees-agrees" "$out/agrees-$each" || not_ok "same-bits-$each" 'other bits'
done
grep 'is CPU code' "$out/agrees-agrees.err" | grep -v 'node Twice ' > "$out/log" &&
  not_ok kernels 'C code' "$out/log"
if build double -O1; then
  right double
  agrees double double CUDASHIM_REUSE=1 1e-9
fi

# ---- The course's texts and the puzzles: as plain loops compute them, and as the CPU

slides() {                                     # slides NAME
  ${CC:-cc} -std=c99 -O1 -DEDF_REAL=double -DEDF_LINKED -DSLIDES="\"../$1.c\"" -I. -Itests \
    tests/cuda/slides.c "$out/impl.o" "$out/double.o" -o "$out/$1" -lstdc++ -lm || return
  for setting in EDF_DEVICE=cpu EDF_DEVICE=cuda 'EDF_DEVICE=cuda EDF_GRAPHS=0'; do
    log=$out/log
    if ! env $setting "$out/$1" > "$log" 2> "$log.err"
    then grep '^not ok' "$log" > "$out/why"; not_ok $1 "$setting" "$out/why"; return; fi
    grep '^[0-9]*:' "$log" > "$out/found"
    [ "$setting" != EDF_DEVICE=cpu ] || cp "$out/found" "$out/expected"
    sh tests/cuda/same.sh "$out/expected" "$out/found" 1e-9 > "$out/why" && continue
    not_ok $1 "$setting" "$out/why"
    return
  done
  ok $1
}
${CC:-cc} -std=c99 -O1 -DEDF_REAL=double -I. -c tests/impl.c -o "$out/impl.o" &&
  slides course_lines && slides puzzles || not_ok slides 'they do not compile'

# ---- Random texts of the notation, and contractions that are large enough for a gemm

if has python3; then
  printf '#!/bin/sh\ncd "%s" && tee cases | ./texts "$@"\n' "$out" > "$out/tee"
  chmod +x "$out/tee"
  export EDF_DEVICE=cpu
  ${CC:-cc} -std=c99 -O1 -I. tests/random/run.c "$out/double.o" -o "$out/texts" -lstdc++ -lm &&
    python3 tests/random/texts.py "$out/tee" 1 400 > "$out/log" &&
    mv "$out/cases" "$out/all" && python3 tests/random/papers.py "$out/tee" double > "$out/log" &&
    cat "$out/cases" >> "$out/all" && python3 tests/random/forms.py "$out/tee" 1 200 > "$out/log" &&
    cat "$out/cases" >> "$out/all" && mv "$out/all" "$out/cases" &&
    tr ';' '\n' < tests/cuda/shapes.txt >> "$out/cases" &&
    "$out/texts" train < "$out/cases" > "$out/cpu" &&
    EDF_DEVICE=cuda CUDASHIM_STATS=1 "$out/texts" train < "$out/cases" > "$out/gpu" \
      2> "$out/texts.err" && cat -n "$out/cpu" > "$out/numbered" &&
    cat -n "$out/gpu" | sh tests/cuda/same.sh "$out/numbered" - 1e-9 > "$out/log"
  if [ $? = 0 ]; then ok texts; else not_ok texts differ "$out/log"; fi
  "$out/texts" derive < "$out/cases" | cat -n > "$out/numbered"
  EDF_DEVICE=cuda "$out/texts" derive < "$out/cases" 2> "$out/derive.err" | cat -n |
    sh tests/cuda/same.sh "$out/numbered" - 1e-9 > "$out/log"
  if [ $? = 0 ]; then ok derivatives; else not_ok derivatives differ "$out/log"; fi
  unset EDF_DEVICE
  rm -f "$out/cpu" "$out/gpu" "$out/numbered"  # they are large
  grep 'is CPU code' "$out/texts.err" > "$out/log" && not_ok texts-kernels 'C code' "$out/log"
  grep -q '^cudashim: gemms 204$' "$out/texts.err" || not_ok texts-gemms 'not 204 gemms'
  sed -n 's/<.*>//; s/^cudashim: kernel \([a-z_]*\).*/\1/p' "$out/texts.err" \
    "$out/agrees-agrees.err" | sort -u > "$out/ran"
  grep -oE '(RUN|RUN_ROWS|GRID)\([a-z_]+_kernel' edf_cuda.cu | sed 's/.*(//' | sort -u |
    comm -13 "$out/ran" - > "$out/never"
  if [ -s "$out/never" ]; then not_ok every-kernel-ran never "$out/never"
  else ok every-kernel-ran; fi
else echo 'skip cuda-texts: no python3'; fi

# ---- A program with edf.h alone, which has no equations, on the GPU

awk '!on && /^ *#define EDF_IMPLEMENTATION$/ { on = match($0, /#/) }
     on { print substr($0, on) }
     on && match($0, /}/) == on { exit }' edf.h | sed 's/Q->value/edf_value(Q)/' > "$out/alone.c"
${CC:-cc} -std=c99 -O1 -I. -c "$out/alone.c" -o "$out/alone.o" 2> "$out/log" &&
  $cxx "$out/alone.o" "$out/float.o" -o "$out/alone" -lm 2> "$out/log" &&
  EDF_DEVICE=cuda "$out/alone" > "$out/alone.out" 2> "$out/log" &&
  [ "$(awk '/^P\(1\) = / { printf "%d", ($3 > 0.5) }' "$out/alone.out")" = 0110 ]
if [ $? = 0 ]; then ok without-slides; else not_ok without-slides 'it stops' "$out/log"; fi

# ---- Examples: the CPU's losses, recorded, without an allocation, or a wait inside of a pass.
# 05, 06 and 07 take minutes here: gpu.md has what their steps cost.

example() {                                    # example NAME OPERATIONS
  sed '/edf_doctor(/d' examples/$1.c > "$out/$1.c"         # the doctor waits
  ${CC:-cc} -std=gnu99 -O1 -DEXAMPLE="\"$out/$1.c\"" -I. -Iexamples tests/cuda/examples.c \
    "$out/float.o" -o "$out/$1" -lstdc++ -lm || not_ok $1 'it does not compile'
  EDF_DEVICE=cpu "$out/$1" 2> /dev/null | grep -a '^losses' > "$out/$1.cpu"
  "$out/$1" 2> "$out/$1.err" | grep -a -e '^losses' -e '^cost' > "$out/$1.gpu"
  grep '^losses' "$out/$1.gpu" > "$out/log"
  if ! grep -q "^cost $2 0 2 0" "$out/$1.gpu"; then not_ok $1 "not $2 0 2 0" "$out/$1.gpu"
  elif ! sh tests/cuda/same.sh "$out/$1.cpu" "$out/log" 1e-5 > "$out/why"
  then not_ok $1 differs "$out/why"
  else ok $1; fi
}
case $out in /*) ;; *) out=$PWD/$out ;; esac
example 03_mnist 21
example 12_slide 20
example 13_microgpt 151

# ---- What stops a program has a message; without a GPU it runs on the CPU

says() {                                       # says NAME SETTINGS STATUS WORDS
  log=$out/says
  env $2 timeout 60 "$out/small.float" mlp > "$log" 2> "$log.err"
  status=$?
  if [ $status = $3 ] && grep -q -E "$4" "$log.err"; then ok $1
  else not_ok $1 "exit status $status, expected $3 and $4" "$log.err"; fi
}
for call in cudaMallocHost:1 cublasCreate:1 cudaMemcpyAsync:4 cudaLaunchKernel:9 \
  cudaStreamSynchronize:1 cudaStreamBeginCapture:1 cudaGraphInstantiate:1 cudaGraphLaunch:2
do
  name=${call%:*} words="^edf: $name.* failed"
  [ $name != cudaLaunchKernel ] || words='^edf: [(a-z_]*_kernel.* failed'
  says fails-$name CUDASHIM_FAIL=$call 134 "$words"
done
says no-GPU CUDASHIM_DEVICES=0 0 'no CUDA-capable device.*running on the CPU'
says no-code-for-this-GPU CUDASHIM_FAIL=cudaFuncGetAttributes:1 0 'running on the CPU'
says no-GPU-but-asked 'CUDASHIM_DEVICES=0 EDF_DEVICE=cuda' 134 'no usable GPU'
"$out/small.float" no_class 2> /dev/null | grep -q nan || not_ok no-class 'no NaN'
says wrong-device EDF_DEVICE=gpu 134 'EDF_DEVICE is gpu: expected auto, cpu or cuda'
says wrong-precision EDF_PRECISION=fp16 134 'EDF_PRECISION is fp16'
says little-memory CUDASHIM_MEM=33556000 134 'cudaMallocAsync.* failed.*out of memory'
if has python3; then                           # the program's own EDF_PANIC
  printf '%s\n' 'W[2,2]' --- 'y[i] = W[i,J]' END | CUDASHIM_FAIL=cublasCreate:1 EDF_DEVICE=cuda \
    "$out/texts" train 2> "$out/log" | grep -q '^error edf: cublasCreate.* failed' &&
    ok panic || not_ok panic 'EDF_PANIC was not called' "$out/log"
fi
EDF_DEVICE=cpu CUDASHIM_STATS=1 "$out/small.float" mlp 2>&1 > "$out/log" |
  grep -q 'api [1-9]' && not_ok cpu 'EDF_DEVICE=cpu calls CUDA' || ok cpu

# ---- The emulator finds mistakes

if $cxx -O0 -std=c++17 -Itests/cuda/shim -x c++ tests/cuda/shim/selftest.cu -o "$out/selftest"
then
  CUDASHIM_LEAKS=1 "$out/selftest" > "$out/log" 2>&1 || not_ok emulator 'it fails' "$out/log"
  "$out/selftest" list | while IFS='|' read -r name setting words; do
    env $setting "$out/selftest" "$name" > "$out/log" 2>&1 && echo "$name is not found"
    tr '\n' ' ' < "$out/log" | grep -q -e "$words" || echo "$name: nowhere: $words"
  done > "$out/missed"
  if [ -s "$out/missed" ]; then not_ok emulator-finds-mistakes missed "$out/missed"
  else ok emulator-finds-mistakes; fi
else not_ok emulator 'it does not compile'; fi

# ---- NVIDIA's toolkit: make run CUDA=1 compiles without a warning and without a spilled
# register, and links cuBLAS. No GPU is visible, so the example says that it runs on the CPU. It
# prints what it prints without edf_cuda.o.

if ! has nvcc && [ ! -x /usr/local/cuda/bin/nvcc ]; then
  echo 'skip cuda-nvcc: no CUDA toolkit'
  echo 'skip cuda-linked: no CUDA toolkit'
  exit $bad
fi

arch='80 90'
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
"$nvcc" --list-gpu-arch | grep -q '^compute_100$' && arch="$arch 100"
make_run() {                                   # make_run EXAMPLE, in a directory of links
  made=$out/made
  rm -rf "$made"
  mkdir -p "$made"
  ln -s "$PWD"/Makefile "$PWD"/edf* "$PWD"/examples "$PWD"/tests "$made"
  env -u EDF_DEVICE -u MAKEFLAGS -u MAKELEVEL CUDA_VISIBLE_DEVICES= \
    NVCC_APPEND_FLAGS='-Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -Xptxas -v' \
    make -s -C "$made" run CUDA=1 CUDA_ARCH="$arch" EXAMPLE=$1 CFLAGS=-O0 BLAS=none ARGS=
}

linked() {                                     # linked REAL EXAMPLE IMPLEMENTATION
  log=$out/linked-$1
  make_run $2 > "$log" 2> "$log.err"
  status=$?
  if [ $status != 0 ]; then not_ok linked-$1 "exit status $status" "$log.err"; return; fi
  if ! grep -q 'Used [0-9]* registers' "$log.err"
  then not_ok nvcc-$1 'nvcc does not print the registers' "$log.err"
  elif grep -E '[1-9][0-9]* bytes spill' "$log.err" > "$log.spills"
  then not_ok nvcc-$1 'it spills' "$log.spills"
  else ok nvcc-$1; fi
  ${CC:-cc} -std=c99 -DEDF_LINKED -I. examples/$2.c "$made/build/$3.o" -o "$out/right" -lm &&
    "$out/right" > "$log.right"
  if ! grep -q '^edf: no usable GPU .*running on the CPU' "$log.err"
  then not_ok linked-$1 'it does not say that it runs on the CPU' "$log.err"
  elif ! cmp -s "$log" "$log.right"; then not_ok linked-$1 'other numbers' "$log"
  else ok linked-$1; fi
}
linked float 02_xor edf
linked double 04_custom_node edf_double
if [ -x /usr/local/cuda/bin/nvcc ] && [ ! -x /usr/bin/nvcc ]; then         # not on this PATH
  env -u MAKEFLAGS -u NVCC PATH=/usr/bin:/bin make -n -B -C "$made" CUDA=1 build/edf_cuda.o |
    grep -q '^/usr/local/cuda/bin/nvcc ' && ok finds-nvcc || not_ok finds-nvcc 'not found'
fi
exit $bad
