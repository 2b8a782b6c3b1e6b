#!/bin/sh
# edf_cuda.cu on an emulated GPU, tests/cuda/shim: its numbers are the CPU's, in every mode.
# Calls that fail, too little memory and races are found. nvcc compiles the same file.
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

build() {                                      # build NAME COMPILER FLAGS: edf_cuda.cu, small.c
  name=$1; shift
  "$@" -x c++ -std=c++17 -Wall -Wextra -Werror -Itests/cuda/shim -I. -c edf_cuda.cu \
    -o "$out/$name.o" > "$out/log" 2>&1 &&
    "$@" "$out/small.o" "$out/$name.o" -o "$out/$name" -lm >> "$out/log" 2>&1 && return
  not_ok "builds-$name" "$*" "$out/log"
  return 1
}

# agrees NAME PROGRAM SETTINGS MODELS: exit status 0, and the CPU's numbers
agrees() {
  log=$out/agrees-$1
  env $3 timeout 200 "$out/$2" $4 > "$log" 2> "$log.err"
  status=$?
  if [ $status != 0 ]; then not_ok "$1" "exit status $status" "$log.err"
  elif grep 'without CUDA graphs' "$log.err" > "$log.why" ||
    ! sh tests/cuda/same.sh "$out/right" "$log" > "$log.why"
  then not_ok "$1" differs "$log.why"
  else ok "$1"; fi
}

$cc -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O0 -I. \
  -c tests/cuda/small.c -o "$out/small.o" && build shim $cxx -O0 || exit 1
models=; [ $set = rest ] || models='small gemm'
export DIGITS=17
{ EDF_DEVICE=cpu "$out/shim" $models; EDF_DEVICE=cpu "$out/shim" tiny; } > "$out/right" ||
  { not_ok cpu 'small.c fails on the CPU'; exit 1; }
agrees agrees shim CUDASHIM_LEAKS=1 "$models"
[ $set = rest ] || exit $bad

# ---- Every mode gives the same bits

agrees reversed shim 'CUDASHIM_LEAKS=1 CUDASHIM_ORDER=rev'
agrees eager-copies shim 'CUDASHIM_LEAKS=1 CUDASHIM_LAZY=0 CUDASHIM_ORDER=7'
agrees not-recorded shim 'CUDASHIM_LEAKS=1 EDF_GRAPHS=0'
for each in reversed eager-copies not-recorded; do
  cmp -s "$out/agrees-agrees" "$out/agrees-$each" || not_ok "same-bits-$each" 'other bits'
done
CUDASHIM_STATS=1 "$out/shim" 2>&1 > /dev/null |
  sed -n 's/<.*>//; s/^cudashim: kernel \([a-z_]*\).*/\1/p' | sort -u > "$out/ran"
sed -n 's/.*__global__.* void \([a-z_]*\)(.*/\1/p' edf_cuda.cu | sort -u |
  comm -13 "$out/ran" - > "$out/never"
if [ -s "$out/never" ]; then not_ok every-kernel-ran never "$out/never"
else ok every-kernel-ran; fi

# Contractions, costs, errors and files. At -O0 a step costs more.
if ${CC:-cc} -std=c99 -O1 -I. tests/cuda/cuda.c "$out/shim.o" -o "$out/cuda" -lstdc++ -lm
then
  for order in fwd 7; do
    CUDASHIM_ORDER=$order "$out/cuda" > "$out/log" 2> "$out/cuda.err" || {
      bad=1
      grep -q '^not ok' "$out/log" || not_ok "cuda.c-$order" 'it stopped' "$out/cuda.err"
    }
    sed -n 's/^ok /&cuda-/p; s/^not ok /&cuda-/p; s/^  also/&/p' "$out/log"
  done
else not_ok cuda.c 'it does not compile'; fi

# ---- A call fails: the program stops with a message, or goes on with one line about it and
# with the right numbers.

note='^edf: note: cuda[A-Za-z]*: .*; without CUDA graphs$|^edf: .*; running on the CPU$'
message='^edf: (cuda|cublas)[A-Za-z]*\(.* failed|^edf: [a-z_]*(<.*>)? failed'
message="$message|^edf: the graph needs"
ends_well() {                                  # ends_well MODEL CALL: says why not
  log=$out/fails noticed=1
  CUDASHIM_FAIL=$2 timeout 20 "$out/shim" $1 > "$log" 2> "$log.err"
  status=$?
  grep -v -e '^edf: GPU: ' -e '^edf: note: node' "$log.err" > "$log.words"
  if [ $status = 1 ]; then
    grep -q -E "$message" "$log.words" && return
    echo "$2: no message: $(head -n 1 "$log.words")"
  elif [ $status != 0 ]; then echo "$2: exit status $status: $(tail -n 1 "$log.words")"
  else
    [ -s "$log.words" ] || noticed=
    if [ "$(wc -l < "$log.words")" -gt 1 ] || grep -v -q -E "$note" "$log.words"; then
      echo "$2: it goes on and says: $(head -n 1 "$log.words")"
    else sh tests/cuda/same.sh "$out/right" "$log" > "$log.why" || echo "$2: other numbers"; fi
  fi
}
n=1 last=0
while [ $((n - last)) -lt 40 ]; do             # nothing has failed 40 times: these are all
  ends_well tiny $n
  [ "$noticed" ] && last=$n
  n=$((n + 1))
done > "$out/badly"
if [ -s "$out/badly" ] || [ $n -lt 140 ]; then not_ok every-call-fails "of $n" "$out/badly"
else ok every-call-fails; fi
n=1 noticed=1
while [ "$noticed" ]; do                       # some calls of all small models
  ends_well small $n
  n=$((n + 1 + n / 4))
done > "$out/badly"
if [ -s "$out/badly" ] || [ $n -lt 1000 ]; then not_ok some-calls-fail "of $n" "$out/badly"
else ok some-calls-fail; fi

# ---- No GPU, little memory, settings that are wrong

says() {                                       # says NAME SETTINGS STATUS WORDS
  log=$out/says-$1
  env $2 timeout 60 "$out/shim" mlp > "$log" 2> "$log.err"
  status=$?
  if [ $status = $3 ] && grep -q -E "$4" "$log.err" &&
    { [ $status = 1 ] || sh tests/cuda/same.sh "$out/right" "$log" > /dev/null; }; then ok $1
  else not_ok $1 "exit status $status, expected $3 and $4" "$log.err"; fi
}
says no-GPU CUDASHIM_DEVICES=0 0 'no CUDA-capable device.*running on the CPU'
says no-GPU-but-asked 'CUDASHIM_DEVICES=0 EDF_DEVICE=cuda' 1 'no usable GPU'
says old-driver CUDASHIM_DEVICES=-35 0 'driver version is insufficient.*running on the CPU'
says no-code CUDASHIM_FAIL=cudaFuncGetAttributes:1:209 0 'no code for the GPU.*sm_90'
says wrong-device EDF_DEVICE=gpu 1 'EDF_DEVICE is gpu: expected auto, cpu or cuda'
says wrong-precision EDF_PRECISION=fp16 1 'EDF_PRECISION is fp16'
says little-memory CUDASHIM_MEM=34000000 1 'the graph needs .* GB'
EDF_DEVICE=cpu CUDASHIM_STATS=1 "$out/shim" mlp 2>&1 > "$out/log" | grep -q 'api [1-9]' &&
  not_ok cpu 'EDF_DEVICE=cpu calls CUDA' || ok cpu

# ---- Races between threads of a kernel, and between streams. The emulator finds mistakes, too.

echo 'int main() { return 0; }' > "$out/probe.cpp"
racer='g++ -fsanitize=thread'                  # that of clang forgets threads above 255
if $racer "$out/probe.cpp" -o "$out/probe" 2> /dev/null && "$out/probe"; then
  build race $racer -O0 -g && agrees race-free race CUDASHIM_ORDER=7 small
else echo 'skip cuda-race: no g++ -fsanitize=thread'; fi

if $cxx -O0 -x c++ -std=c++17 -Itests/cuda/shim tests/cuda/shim/selftest.cu -o "$out/selftest"
then
  CUDASHIM_LEAKS=1 "$out/selftest" > "$out/log" 2>&1 || not_ok emulator 'it fails' "$out/log"
  "$out/selftest" list | grep -v '|race|' | while IFS='|' read -r name setting words; do
    env $setting "$out/selftest" "$name" > "$out/log" 2>&1 && echo "$name is not found"
    tr '\n' ' ' < "$out/log" | grep -q -e "$words" || echo "$name: nowhere: $words"
  done > "$out/missed"
  if [ -s "$out/missed" ]; then not_ok emulator-finds-mistakes missed "$out/missed"
  else ok emulator-finds-mistakes; fi
else not_ok emulator 'it does not compile'; fi

# ---- NVIDIA's compiler

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)
if [ -z "$nvcc" ]; then echo 'skip cuda-nvcc: no nvcc'
elif "$nvcc" -std=c++17 -gencode arch=compute_80,code=sm_80 \
  -gencode arch=compute_90,code=sm_90 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror \
  -I. -c edf_cuda.cu -o "$out/nvcc.o" \
  > "$out/log" 2>&1; then ok nvcc
else not_ok nvcc 'it does not compile' "$out/log"; fi
exit $bad
