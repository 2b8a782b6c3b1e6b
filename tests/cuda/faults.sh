#!/bin/sh
# edf_cuda.cu where something goes wrong, or might: tests/cuda/small.c on the emulated GPU in
# every mode; with every call failing in turn; without a GPU, or memory; with the sanitizers and
# the race detector; and compiled by nvcc, which finds no GPU here.
#   sh tests/cuda/faults.sh [directory for what is built [parts]]
# Parts: modes variants calls memory double clang address clang_address race nvcc. NVCC=none
# leaves nvcc out.

cd "$(dirname "$0")/../.." || exit 1
out=${1:-build/tests/cuda_faults}
[ $# -gt 0 ] && shift
cu=edf_cuda.cu
CC=${CC:-cc} CXX=${CXX:-g++}
has() { command -v "$1" >/dev/null 2>&1; }
has "$CXX" || CXX=clang++
has "$CXX" || { echo 'skip cuda_faults: no C++ compiler'; exit; }

ok() { echo "ok cuda-$1"; }
not_ok() { echo "not ok cuda-$1: $2"; }
cpu=$out/cpu

# compile OBJECT COMPILER FLAGS; works COMPILER FLAGS: does a program of two lines run?
compile() {
  object=$1
  shift
  "$@" -x c++ -std=c++17 -Wall -Wextra -Werror -Itests/cuda/shim -I. -c "$cu" -o "$object" \
    > "$object.log" 2>&1
}
works() {
  probe=$out/probe_$part
  echo 'int main() { int x[2] = { 0, 1 }; return x[0]; }' > "$probe.cpp"
  { "$@" "$probe.cpp" -o "$probe" && "$probe"; } >/dev/null 2>&1
}

# link NAME COMPILER FLAGS; build NAME COMPILER FLAGS: compiles and links
link() {
  name=$1
  shift
  if [ -f "$out/$name.o" ] &&
    "$@" "$out/cuda_small.o" "$out/$name.o" -o "$out/$name" -lm >> "$out/$name.o.log" 2>&1
  then ok "builds-$name"
  else
    not_ok "builds-$name" "$* fails, see $out/$name.o.log"
    head -n 5 "$out/$name.o.log" | sed 's/^/  /'
    return 1
  fi
}
build() {
  rm -f "$out/$1.o"
  name=$1
  shift
  compile "$out/$name.o" "$@"
  link "$name" "$@"
}

# agrees NAME PROGRAM SETTINGS MODELS: exit status 0, and the CPU's numbers
agrees() {
  log=$out/agrees-$1
  env $3 timeout 200 "$out/$2" $4 > "$log" 2> "$log.err"
  status=$?
  if [ $status != 0 ]; then
    not_ok "$1" "exit status $status, the end of $log.err:"
    tail -n 4 "$log.err" | cut -c 1-200 | sed 's/^/  /'
    return 1
  elif grep 'without CUDA graphs' "$log.err" > "$log.why" ||
    ! sh tests/cuda/same.sh "$cpu" "$log" > "$log.why"; then
    not_ok "$1" "$(head -n 1 "$log.why")"
    return 1
  fi
  ok "$1"
}

# ---- Every mode; and all of them give the same bits.
part_modes() {
  for lazy in 1 0; do for order in fwd rev 7; do for graphs in 1 0; do
    agrees "lazy-$lazy-$order-graphs-$graphs" cxx \
      "DIGITS=17 CUDASHIM_LEAKS=1 CUDASHIM_LAZY=$lazy CUDASHIM_ORDER=$order EDF_GRAPHS=$graphs"
  done; done; done
  DIGITS=17 "$out/cxx" > "$out/agrees-again" 2>/dev/null
  for log in "$out"/agrees-lazy-[01]-*-graphs-[01]; do
    cmp -s "$out/agrees-again" "$log" || echo "$log"
  done > "$out/differ"
  [ -s "$out/differ" ] && not_ok same-bits "not in $(head -n 1 "$out/differ")" || ok same-bits
  agrees sync cxx EDF_SYNC=1
  agrees check cxx 'EDF_CHECK=1 CUDASHIM_ORDER=rev'
  agrees debug cxx EDF_CUDA_DEBUG=1
  agrees pedantic cxx EDF_PRECISION=pedantic gemm
  for precision in tf32 bf16; do
    EDF_PRECISION=$precision "$out/cxx" gemm > "$out/$precision" 2>/dev/null
    if sh tests/cuda/same.sh "$cpu" "$out/$precision" > /dev/null
    then not_ok $precision 'it rounds nothing'
    elif sh tests/cuda/same.sh "$cpu" "$out/$precision" 1e-2 > "$out/why"; then ok $precision
    else not_ok $precision "$(head -n 1 "$out/why")"; fi
  done
  CUDASHIM_STATS=1 "$out/cxx" 2>&1 >/dev/null |
    sed -n 's/<.*>//; s/^cudashim: kernel \([a-z_]*\).*/\1/p' | sort -u > "$out/ran"
  sed -n 's/.*__global__.* void \([a-z_]*\)(.*/\1/p' "$cu" | sort -u > "$out/kernels"
  never=$(comm -13 "$out/ran" "$out/kernels" | tr '\n' ' ')
  [ "$never" ] && not_ok every-kernel-ran "never: $never" || ok every-kernel-ran
}

# ---- The same with thresholds that only large programs meet: every product by gemm, panels
# that are cut, sums that are cut.
variant() {                                # variant NAME SUBSTITUTION MODELS
  sed "$2" edf_cuda.cu > "$out/variant_$1.cu"
  if cmp -s edf_cuda.cu "$out/variant_$1.cu"; then not_ok "$1" "$2 changes nothing"; return; fi
  cu=$out/variant_$1.cu
  build "$1" $CXX -O0 && agrees "agrees-$1" "$1" X=1 "$3"
}
part_variants() {
  gemm='s/costs = { [0-9]*, /costs = { 0, /'
  variant every-gemm "$gemm" ''
  variant small-panels "$gemm; s/MOST_PANEL = 1 << 24/MOST_PANEL = 1 << 6/" small
  variant cut-sums 's/total > 4e9/total > 300/' small
}

# ---- Calls that fail. It ends with exit status 1 and a message, or falls back, with one line
# and the right numbers.

# Is the end of a run with MODELS and CUDASHIM_FAIL=SETTING a good one? Says why not. `noticed`
# is empty where nothing failed.
note='^edf: note: cuda[A-Za-z]*: .*; without CUDA graphs$|^edf: .*; running on the CPU$'
message='^edf: (cuda|cublas)[A-Za-z]*\(.* failed|^edf: [a-z_]*(<.*>)? failed'
message="$message|^edf: the graph needs"
ends_well() {
  log=$out/fails noticed=1
  CUDASHIM_FAIL=$2 timeout 20 "$out/cxx" $1 > "$log" 2> "$log.err"
  status=$?
  grep -v -e '^edf: GPU: ' -e '^edf: note: node Twice' "$log.err" > "$log.words"
  if [ $status = 1 ]; then
    grep -q -E "$message" "$log.words" && return
    echo "$2: no message: $(head -n 1 "$log.words")"
  elif [ $status != 0 ]; then echo "$2: exit status $status: $(tail -n 1 "$log.words")"
  else
    [ -s "$log.words" ] || noticed=
    if [ "$(wc -l < "$log.words")" -gt 1 ] || grep -v -q -E "$note" "$log.words"; then
      echo "$2: it goes on and says: $(head -n 1 "$log.words")"
      return
    fi
    sh tests/cuda/same.sh "$cpu" "$log" > "$log.why" || echo "$2: $(head -n 1 "$log.why")"
  fi
}

# verdict NAME FILE RUNS: the file has what went wrong
verdict() {
  if [ ! -s "$2" ]; then ok "$1"; return; fi
  not_ok "$1" "$(wc -l < "$2") of $3 runs end badly"
  head -n 5 "$2" | sed 's/^/  /'
}

part_calls() {
  n=1 last=0 runs=0
  while [ $((n - last)) -lt 40 ]; do       # nothing has failed 40 times: these are all
    ends_well tiny $n
    [ "$noticed" ] && { [ $((n - last)) = 1 ] || echo "$((n - 1)): nobody notices"; last=$n; }
    n=$((n + 1))
  done > "$out/bad_calls"
  if [ $n -lt 140 ]; then not_ok every-call-fails "only $n calls"
  else verdict every-call-fails "$out/bad_calls" $n; fi

  n=1 runs=0 noticed=1                     # of a long program, some
  while [ "$noticed" ]; do
    ends_well small $n
    n=$((n + 1 + n / 8)) runs=$((runs + 1))
  done > "$out/bad_calls"
  if [ $runs -lt 50 ]; then not_ok some-calls-fail "only $runs runs"
  else verdict some-calls-fail "$out/bad_calls" $runs; fi

  # By its name, and the message has the name; of an error that stays, too.
  names=$(grep -o -E '\b(cuda|cublas)[A-Z][A-Za-z]*\(' "$cu" | tr -d '(' | sort -u |
    grep -v -E 'GetErrorString|GetStatusString|GetLastError|MemGetInfo')
  runs=0
  for name in $names cudaLaunchKernel; do
    of=tiny says=$name code=700
    case $name in
      cudaLaunchKernel) says='_kernel' ;;
      cublas*) code=14 ;;
      cudaMemsetAsync) of=conv ;;
      cudaGetDevice*|cudaFuncGetAttributes) says= ;;
      cudaFree|cudaMalloc) says= ;;        # the first is a question, the second says sizes
    esac
    case $name in cublasGemm*) of=gemm_batched ;; esac
    for setting in $name:1 $name:2 $name:1:$code $name:2:$code; do
      ends_well $of $setting
      runs=$((runs + 1))
      case $setting in
        $name:1|$name:1:*) [ "$noticed" ] || echo "$setting: never called" ;;
      esac
      [ -z "$noticed" ] || grep -q -e "$says" "$out/fails.words" ||
        echo "$setting: the message is $(head -n 1 "$out/fails.words")"
    done
  done > "$out/bad_calls"
  if [ $runs -lt 80 ]; then not_ok calls-by-name "only $runs runs"
  else verdict calls-by-name "$out/bad_calls" $runs; fi
}

# ---- No GPU, no memory, settings that are none

# says NAME SETTINGS MODELS STATUS LINE...: the lines on stderr are these, in this order, of
# those that are not the start or a note; with status 0 the numbers are the CPU's
says() {
  name=$1 settings=$2 of=$3 expected=$4
  log=$out/says-$name
  shift 4
  env $settings timeout 60 "$out/cxx" $of > "$log" 2> "$log.err"
  status=$?
  grep -v -e '^edf: GPU: ' -e '^edf: note: node' "$log.err" > "$log.words"
  if [ $status != "$expected" ]; then not_ok "$name" "exit status $status"
  elif [ "$(wc -l < "$log.words")" != $# ]; then not_ok "$name" "$(wc -l < "$log.words") lines"
  elif [ $status = 0 ] && ! sh tests/cuda/same.sh "$cpu" "$log" > "$log.why"; then
    not_ok "$name" "$(cat "$log.why")"
  else
    k=0
    for line; do
      k=$((k + 1))
      sed -n "${k}p" "$log.words" | grep -q -x -E -e "$line" && continue
      not_ok "$name" "line $k is not $line"
      sed 's/^/  /' "$log.words"
      return
    done
    ok "$name"
  fi
}

part_memory() {
  none='edf: no usable GPU \(no CUDA-capable device is detected\)'
  driver='edf: no usable GPU \(CUDA driver version is insufficient for CUDA runtime version\)'
  code='edf: this program has no code for the GPU, which is sm_90 \(.*\):'
  code="$code make cuda CUDA_ARCH=90"
  says no-device CUDASHIM_DEVICES=0 'mlp conv' 0 "$none; running on the CPU"
  says old-driver CUDASHIM_DEVICES=-35 mlp 0 "$driver; running on the CPU"
  says busy CUDASHIM_FAIL=cudaFree:1:46 mlp 0 \
    'edf: no usable GPU \(.*busy or.*\); running on the CPU'
  says no-code CUDASHIM_FAIL=cudaFuncGetAttributes:1:209 mlp 0 "$code; running on the CPU"
  says no-device-but-asked 'CUDASHIM_DEVICES=0 EDF_DEVICE=cuda' mlp 1 "$none"
  says old-driver-but-asked 'CUDASHIM_DEVICES=-35 EDF_DEVICE=cuda' mlp 1 "$driver"
  says asked EDF_DEVICE=cuda mlp 0
  says auto EDF_DEVICE=auto mlp 0
  says empty 'EDF_DEVICE= EDF_PRECISION= EDF_GRAPHS= EDF_SYNC= EDF_CHECK=' mlp 0
  says wrong-device EDF_DEVICE=gpu mlp 1 'edf: EDF_DEVICE is gpu: expected auto, cpu or cuda'
  says wrong-precision EDF_PRECISION=fp16 mlp 1 \
    'edf: EDF_PRECISION is fp16: expected fp32, tf32, bf16 or pedantic'
  says no-memory-at-all CUDASHIM_MEM=1000000 mlp 1 \
    'edf: cudaMalloc\(.*\) failed .*: out of memory'
  n='[0-9.e-]+'
  sizes="edf: the graph needs $n GB \(parameters $n, values $n, grads $n\)"
  sizes="$sizes but the GPU has $n GB free"
  says little-memory CUDASHIM_MEM=34000000 mlp 1 "$sizes" '  [0-9]+ bytes could not be had'
  says memory-ends CUDASHIM_MEM=38000000 grows 1 "$sizes" '  [0-9]+ bytes could not be had'
  says enough-memory CUDASHIM_MEM=60000000 grows 0
  says tickets CUDASHIM_FAIL=cudaStreamBeginCapture:1 'mlp conv' 0 \
    'edf: note: cudaStreamBeginCapture: unknown error; without CUDA graphs'
  EDF_DEVICE=cpu CUDASHIM_STATS=1 "$out/cxx" mlp 2>&1 > "$out/says-cpu" | grep -q 'api [1-9]' &&
    not_ok cpu 'EDF_DEVICE=cpu calls CUDA' || ok cpu

  # A label that only the GPU knows: the words are the CPU's.
  EDF_DEVICE=cpu "$out/cxx" no_class 2> "$out/class_cpu" > /dev/null; on_cpu=$?
  "$out/cxx" no_class 2> "$out/class" > /dev/null; status=$?
  grep -v '^edf: GPU' "$out/class" | cmp -s - "$out/class_cpu" && [ $status = $on_cpu ] &&
    grep -q 'label 4 in row 1' "$out/class" && ok no-class || not_ok no-class "see $out/class"
}

# ---- Other builds
part_double() {
  cpu=$out/cpu_double
  compile "$out/double.o" $CXX -O0 -DEDF_REAL=double &&
    $CC -std=c99 -O1 -DEDF_REAL=double -I. tests/cuda/small.c "$out/double.o" -o "$out/double" \
      -lstdc++ -lm || { not_ok builds-double "see $out/double.o.log"; return; }
  EDF_DEVICE=cpu "$out/double" > "$cpu"
  "$out/double" > "$out/agrees-double" 2>/dev/null ||
    { not_ok double "exit status $?"; return; }
  if sh tests/cuda/same.sh "$cpu" "$out/agrees-double" 1e-8 > "$out/why"; then ok double
  else not_ok double "$(head -n 1 "$out/why")"; fi
}

part_clang() {
  has clang++ || { echo 'skip cuda-clang: no clang++'; return; }
  build clang clang++ -O1 && agrees agrees-clang clang CUDASHIM_ORDER=rev
}

sanitized() {                              # sanitized NAME COMPILER
  has "$2" || { echo "skip cuda-$1: no $2"; return; }
  flags='-fsanitize=address,undefined -fno-sanitize-recover=all'
  works $2 $flags || { echo "skip cuda-$1: $2 $flags does not work here"; return; }
  build "$1" $2 -O1 -g $flags || return
  agrees "$1-lazy" "$1" CUDASHIM_ORDER=7
  agrees "$1-eager" "$1" 'CUDASHIM_LAZY=0 EDF_GRAPHS=0' small
  agrees "$1-check" "$1" EDF_CHECK=1 small
}
part_address() { sanitized address $CXX; }
part_clang_address() {
  [ "$CXX" = clang++ ] || sanitized clang_address clang++
}

# The detector of clang 14 forgets what it has seen when there are more than 255 threads.
part_race() {
  racer=$CXX; has g++ && racer=g++
  works $racer -fsanitize=thread ||
    { echo "skip cuda-race: $racer has no -fsanitize=thread"; return; }
  build race $racer -O0 -g -fsanitize=thread || return
  agrees race-free race CUDASHIM_ORDER=7 small
}

part_nvcc() {
  nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
  [ "$nvcc" = none ] && { echo 'skip cuda-nvcc: NVCC=none'; return; }
  [ "$nvcc" ] || { echo 'skip cuda-nvcc: no nvcc'; return; }
  if ! "$nvcc" -std=c++17 -arch=all-major -Werror all-warnings \
    -Xcompiler -Wall,-Wextra,-Werror -I. -c "$cu" -o "$out/nvcc.o" > "$out/nvcc.log" 2>&1; then
    not_ok nvcc-builds "see $out/nvcc.log"
    head -n 5 "$out/nvcc.log" | sed 's/^/  /'
    return
  fi
  ok nvcc-builds
  lib=$(dirname "$nvcc")/../lib64
  if ! $CC -std=c99 -O1 -DNO_SHIM -I. tests/cuda/small.c "$out/nvcc.o" -o "$out/nvcc" -L"$lib" \
    -Wl,-rpath,"$lib" -lcublas -lcudart -lstdc++ -lm > "$out/nvcc.log" 2>&1
  then not_ok nvcc-links "$(tail -n 1 "$out/nvcc.log")"; return; fi
  agrees nvcc-runs nvcc X=1 || return
  lines=$(grep -c '; running on the CPU$' "$out/agrees-nvcc-runs.err")
  grep -q '^edf: GPU: ' "$out/agrees-nvcc-runs.err" && ok nvcc-found-a-gpu ||
    { [ "$lines" = 1 ] && ok nvcc-falls-back || not_ok nvcc-falls-back "$lines lines say so"; }
}

# ---- All parts, or those that are named
mkdir -p "$out"
rm -f "$out/cxx.o" "$out/cuda_small.o"
: > "$out/times"
part=all
$CC -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -O1 -I. -c tests/cuda/small.c \
  -o "$out/cuda_small.o" > "$out/c.log" 2>&1 &
compile "$out/cxx.o" $CXX -O1 -g
wait
[ -s "$out/c.log" ] && { not_ok compiles "$(head -n 3 "$out/c.log")"; exit 1; }
link cxx $CXX -O1 -g || exit 1
EDF_DEVICE=cpu DIGITS=17 "$out/cxx" > "$cpu" && EDF_DEVICE=cpu "$out/cxx" tiny >> "$cpu" ||
  { not_ok cpu 'cuda_small fails on the CPU'; exit 1; }

for part in ${*:-race calls address clang_address modes variants nvcc double clang memory}; do
  start=$(date +%s)
  (part_$part) > "$out/part"
  cat "$out/part"
  grep -q -E '^(ok|not ok|skip) ' "$out/part" || echo "not ok cuda-$part: it said nothing"
  echo "$part: $(($(date +%s) - start)) s" >> "$out/times"
done | tee "$out/verdicts"
tr '\n' ' ' < "$out/times"; echo
! grep -q '^not ok' "$out/verdicts" && grep -q '^ok' "$out/verdicts"
