#!/bin/sh
# The CUDA shim tests itself: shim/selftest.cu has right programs, which must work in every
# mode and order with every compiler and sanitizer there is, and mistakes, each of which must be
# found.
#   sh tests/cuda/shim.sh [directory for what is built]

cd "$(dirname "$0")/../.." || exit 1
dir=${1:-build/tests/shim}
mkdir -p "$dir"
cxx=${CXX:-g++}
flags='-x c++ -std=c++17 -Wall -Wextra -Werror -Itests/cuda/shim'
bad=0

ok() { echo "ok $1"; }
not_ok() { bad=1; echo "not ok $1: $2"; }
shown() { sed 's/^/  /' "$dir/log" | head -n 6; }

# works COMPILER FLAGS: does a program of two lines run?
echo 'int main() { int x[2] = { 0, 1 }; return x[0]; }' > "$dir/probe.cpp"
works() { { "$@" "$dir/probe.cpp" -o "$dir/probe" && "$dir/probe"; } >/dev/null 2>&1; }

builds= race=
build() {                                  # build NAME COMPILER FLAGS
  name=$1
  shift
  if ! command -v "$1" >/dev/null 2>&1; then echo "skip shim-$name: no $1"
  elif ! works "$@"; then echo "skip shim-$name: $* does not work here"
  elif "$@" $flags tests/cuda/shim/selftest.cu -o "$dir/$name" 2> "$dir/log"; then
    builds="$builds $name"
  else
    not_ok "shim-$name" 'it does not compile'
    shown
  fi
}
build cxx $cxx -O1
[ "$cxx" = clang++ ] || build clang clang++ -O1
build sanitized $cxx -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
build race $cxx -O1 -g -fsanitize=thread
[ "$cxx" = clang++ ] || build clang-race clang++ -O1 -g -fsanitize=thread

TSAN_OPTIONS="atexit_sleep_ms=0 $TSAN_OPTIONS"
export TSAN_OPTIONS

# ---- Right programs

for name in $builds; do
  modes='0 1' orders='fwd rev 7 11'
  case $name in *race) race=$name modes=1 orders=7 ;; esac   # slow
  for lazy in $modes; do for order in $orders; do
    if CUDASHIM_LEAKS=1 CUDASHIM_LAZY=$lazy CUDASHIM_ORDER=$order "$dir/$name" > "$dir/log" 2>&1
    then ok "shim-right-$name-$lazy-$order"
    else not_ok "shim-right-$name-$lazy-$order" "exit status $?"; shown
    fi
  done; done
done

# ---- Mistakes

finds() {                                  # finds NAME WORDS STATUS: from the log
  if [ "$3" = 0 ]; then not_ok "$1" 'exit status 0'
  elif tr '\n' ' ' < "$dir/log" | grep -q -e "$2"; then ok "$1"
  else not_ok "$1" "exit status $3, and nowhere: $2"; shown
  fi
}

first=${builds# }
first=${first%% *}
[ "$first" ] || exit 1
"$dir/$first" list > "$dir/mistakes"
while IFS='|' read -r name setting words; do
  program=$first
  if [ "$setting" = race ]; then program=$race setting=; fi
  if [ -z "$program" ]; then echo "skip shim-finds-$name: no -fsanitize=thread"; continue; fi
  env $setting "$dir/$program" "$name" > "$dir/log" 2>&1
  finds "shim-finds-$name" "$words" $?
done < "$dir/mistakes"

# ---- What the environment asks for

asked() {                                  # asked SETTING WORDS
  env "$1" "$dir/$first" > "$dir/log" 2>&1
  finds "shim-$1" "$2" $?
}
asked CUDASHIM_DEVICES=0 'no CUDA-capable device is detected'
asked CUDASHIM_DEVICES=-35 'CUDA driver version is insufficient'
asked CUDASHIM_MEM=1500 'cudaMalloc(&b, BYTES): out of memory'
asked CUDASHIM_FAIL=3 'cudaMalloc(&b, BYTES): out of memory'
asked CUDASHIM_FAIL=cudaMallocHost:2 'cudaMallocHost(&p, BYTES): out of memory'
asked CUDASHIM_FAIL=cudaMemcpyAsync:1:700 'an illegal memory access was encountered'
asked CUDASHIM_FAIL=cudaLaunchKernel:1:719 'unspecified launch failure'
asked CUDASHIM_FAIL=cublasCreate:1:3 'the resource allocation failed'

CUDASHIM_STATS=1 "$dir/$first" > "$dir/log" 2>&1
grep -q '^cudashim: kernel zip<Add> 4$' "$dir/log" && ok shim-stats || {
  not_ok shim-stats 'no line for zip<Add>'; shown; }

# Every call fails once: the program says so and stops, it does not crash.
calls=$(sed -n 's/^cudashim: api //p' "$dir/log")
n=1 failed=
while [ $n -le "${calls:-1}" ]; do
  CUDASHIM_FAIL=$n "$dir/$first" > "$dir/log" 2>&1
  case $? in 1) ;; *) failed="$failed $n" ;; esac
  n=$((n + 1 + n / 30))
done
if [ "$failed" ]; then not_ok shim-every-call-fails "not with 1:$failed"
elif [ $n -lt 60 ]; then not_ok shim-every-call-fails "only $n calls"
else ok shim-every-call-fails; fi

# ---- The test is CUDA

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -z "$nvcc" ]; then echo 'skip shim-nvcc: no nvcc'
elif "$nvcc" -std=c++17 -arch=sm_90 -c tests/cuda/shim/selftest.cu -o "$dir/nvcc.o" \
    > "$dir/log" 2>&1; then ok shim-nvcc
else not_ok shim-nvcc 'it does not compile'; shown
fi
exit $bad
