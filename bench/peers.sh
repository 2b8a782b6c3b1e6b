#!/bin/sh
# Our step beside PyTorch's on this CPU: make bench MODELS=peers
#   TURNS=21 PYTHON=python3 sh bench/peers.sh [MODEL ...]
# The models of bench.c, and the same in torch_bench.py, eager and compiled: three processes
# take turns of some 10 ms, with one thread by CPU time, with all by the wall clock. Printed are
# medians; the ratio is ours over the better of PyTorch's in the same turn. Where $PYTHON has no
# torch, build/peers gets one from PyPI: on Linux 5 GB, with all that a GPU would need; pip's
# PIP_INDEX_URL can name an index of smaller ones. torch.compile needs a C++ compiler.

cd "$(dirname "$0")/.." || exit 1
turns=${TURNS:-21} python=${PYTHON:-python3} dir=build/peers LC_ALL=C
export LC_ALL TORCHINDUCTOR_CACHE_DIR="$PWD/$dir/cache"
mkdir -p $dir
skip() { echo "skip peers: $1"; exit 0; }
has_torch() { "$python" -c 'import torch' > $dir/log 2>&1; }

if ! has_torch; then
  command -v "$python" > /dev/null || skip "no $python"
  [ -x $dir/bin/pip ] || "$python" -m venv $dir > $dir/log 2>&1 || skip "no venv, see $dir/log"
  python=$dir/bin/python
  has_torch || { echo "peers: installing PyTorch in $dir" >&2
                 "$python" -m pip install -q torch > $dir/log 2>&1 && has_torch; } ||
    skip "PyTorch was not installed: $(tail -n 1 $dir/log)"
fi
${CC:-cc} -fopenmp ${CFLAGS:--O3 -march=native} $BLAS_CFLAGS -I. bench/bench.c \
  -o $dir/bench_threads $BLAS_LIBS -lm 2> $dir/log && cores=$(getconf _NPROCESSORS_ONLN) ||
  echo 'skip peers with all threads: no OpenMP'
rm -f $dir/*.go $dir/*.said
for who in ours eager compile; do mkfifo $dir/$who.go $dir/$who.said || exit 2; done

begin() {                                  # begin WHO COMMAND: it says when it is ready
  who=$1; shift
  "$@" < $dir/$who.go > $dir/$who.said 2> $dir/$who.log &
}
stopped() {
  echo "peers: $model: a program stopped; see $dir/*.log:" >&2
  cat $dir/ours.log $dir/eager.log $dir/compile.log | grep -v '^$' | tail -n 4 >&2
  exit 2
}
turn() {                                   # turn WHO: one more number in its file
  case $1 in
    ours) echo >&3 && read -r us <&4 ;;
    eager) echo >&5 && read -r us <&6 ;;
    compile) echo >&7 && read -r us <&8 ;;
  esac 2> /dev/null && echo "$us" >> $dir/$1 || stopped
}
trap '' PIPE
median() { sort -n "$1" | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

compare() {                                # compare THREADS PROGRAM KIND
  export OMP_NUM_THREADS="$1"
  begin ours "$2" "$3" "$model"
  for how in eager compile; do
    begin $how "$python" bench/torch_bench.py --cpu --turns $how "$model"
  done
  exec 3> $dir/ours.go 4< $dir/ours.said 5> $dir/eager.go 6< $dir/eager.said \
    7> $dir/compile.go 8< $dir/compile.said
  read -r us <&4 && read -r us <&6 && read -r us <&8 || stopped
  rm -f $dir/ours $dir/eager $dir/compile
  set -- "$1" ours eager compile
  for each in $(seq "$turns"); do
    turn "$2"; turn "$3"; turn "$4"
    set -- "$1" "$3" "$4" "$2"
  done
  exec 3>&- 4<&- 5>&- 6<&- 7>&- 8<&-
  wait
  paste $dir/ours $dir/eager $dir/compile |
    awk '{ printf "%.3f\n", $1 / ($2 < $3 ? $2 : $3) }' > $dir/ratio
  echo "peers $model threads=$1 ours_us=$(median $dir/ours) eager_us=$(median $dir/eager)" \
    "compiled_us=$(median $dir/compile) ratio=$(median $dir/ratio)"
}

for model in ${*:-mlp_a mlp_b lenet lstm gpt}; do
  compare 1 build/bench step
  [ "${cores:-1}" = 1 ] || compare "$cores" $dir/bench_threads wall
done
