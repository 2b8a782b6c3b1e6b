#!/bin/sh
# examples/mpi_mnist.c: any number of ranks gives the parameters of one process. A rank
# that stops or dies ends the run, and the saved model stays whole.
#   sh tests/mpi.sh [DIRECTORY]                for what is built
# 77 images make batches of 64 and 13: of the last, 4 ranks get 3, 3, 3 and 4. In batches of 3,
# one of 4 ranks gets none.

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/mpi}
mkdir -p "$dir"
cc=${CC:-cc}
command -v clang > /dev/null && cc=clang       # at -O0 it is the faster compiler
for tool in mpicc mpirun; do
  command -v $tool > /dev/null || { echo "skip mpi: no $tool"; exit; }
done

# These let root run, and more ranks than cores, which then wait politely.
export OMPI_CC="$cc" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1
ranks='timeout 60 mpirun -n'
if ! $ranks 2 true > "$dir/out" 2>&1; then
  echo "skip mpi: mpirun does not run here: $(grep -v '^--*$' "$dir/out" | head -n 1)"
  exit
fi

bad=0
pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; tail -n 8 out | sed 's/^/  /'; }

build() {                                      # build NAME COMPILER FLAGS SOURCE
  $2 -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -O0 $3 \
    -DEDF_NO_DEBUG -I. -Iexamples "$4" -o "$dir/$1" -lm && return
  echo "not ok build-$1"
  exit 1
}
build float mpicc '' examples/mpi_mnist.c
build double mpicc -DEDF_REAL=double examples/mpi_mnist.c
build draw $cc '' tests/mpi/draw.c
cd "$dir" || exit 1
rm -rf images wrong build
mkdir images wrong build
./draw images 77 -1 && ./draw wrong 77 42 || exit 1
export EDF_DATA=images
model=build/mpi_mnist.safetensors

# ---- The same parameters. Other orders of a sum round otherwise: up to 1e-6 after 36 steps.

numbers() {                                    # numbers BYTES: a line each, of the model
  od -An -v -t f$1 -w$1 -j $((8 + $(od -An -t u8 -N 8 $model))) $model
}
trained() {                                    # trained BYTES RANKS PROGRAM OPTIONS
  bytes=$1 n=$2 program=$3; shift 3
  rm -f $model
  $ranks $n ./$program "$@" > out 2>&1 && numbers $bytes
}
apart() {                                      # apart FILE FILE: the greatest difference
  paste $1 $2 | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d }
    /nan|inf/ || NF != 2 { most = 1e9 }
    END { print NR ? most + 0 : 1e9 }'
}
same() {                                       # same BOUND BYTES PROGRAM RANKS EPOCHS BATCH
  name="$3 $4 $5 $6"
  trained $2 $4 $3 --epochs $5 --batch $6 > mine
  trained $2 1 $3 --epochs $5 --batch $6 > right
  trained $2 1 $3 --eta 0 --epochs 1 > start
  found="$(apart mine right) $(apart start right)"
  if echo "$found" | awk -v bound=$1 '{ exit !($1 <= bound && $2 > 0.1 && $2 < 1e9) }'
  then pass "$name"
  else fail "$name" "difference, and way from the start: $found, expected at most $1"; fi
}
same 5e-6 4 float 2 12 64
same 5e-6 4 float 4 2 3
same 1e-14 8 double 4 12 64

# ---- A rank that stops: it says why, and the file is as it was

stops() {                                      # stops NAME MESSAGE COMMAND
  name=$1 message=$2; shift 2
  ./float --epochs 1 > out 2>&1 && cp $model before || exit 1
  "$@" > out 2>&1
  status=$?
  if [ $status = 0 ] || [ $status = 124 ]; then fail $name "its exit status is $status"
  elif ! grep -q -E "$message" out; then fail $name "no line matches $message"
  elif ! cmp -s $model before; then fail $name 'the file has changed'
  else pass $name; fi
}
stops wrong-label '^rank 2 of 4: .*LogLoss' env EDF_DATA=wrong $ranks 4 ./float --no-shuffle
stops other-seed '^rank 1 of 2: it starts with other' \
  $ranks 1 ./float --seed 1 : -n 1 ./float --seed 2

# ---- A rank that is killed: all end, and the file is whole

echo 'echo $$ > pid.$OMPI_COMM_WORLD_RANK; exec "$@"' > ranked
rm -f pid.* $model
$ranks 4 sh ranked ./float --epochs 1000 > out 2>&1 &
run=$!
while [ ! -s $model ] && kill -0 $run 2> /dev/null; do sleep 0.1; done
kill -s KILL "$(cat pid.1)"
wait $run
status=$?
sleep 1
left=$(for each in pid.*; do ps -o pid= -o stat= -p "$(cat $each)"; done | grep -v Z)
if [ $status = 0 ] || [ $status = 124 ]; then fail killed "its exit status is $status"
elif ! grep -q -i 'rank 1 .*signal 9' out; then fail killed 'it does not say which rank'
elif [ "$left" ]; then fail killed "processes are left: $left"
elif [ $(wc -c < $model) != $(wc -c < before) ]; then fail killed 'the file is not whole'
else pass killed; fi
exit $bad
