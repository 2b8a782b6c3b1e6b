#!/bin/sh
# examples/mpi_mnist.c: 2 and 4 ranks against one plain process, which has no hook and no MPI;
# ranks that stop or die; the file that they leave. All of it runs here, with Open MPI.
#   sh tests/mpi.sh [directory for what is built]
# 77 drawn images make batches of 64 and 13: of the last, 2 ranks get 6 and 7, 4 ranks 3, 3, 3
# and 4. In batches of 3 one of 4 ranks gets none, in the last of 2 two. The steps are few, for
# ranks that share a core wait long for each other. edf_cuda.cu runs on tests/cuda/shim.

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/mpi}
cc=${CC:-cc}
flags='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion'
small='-O1 -DEDF_NO_DEBUG'                     # compiles in a third of the time
mkdir -p "$dir"
for tool in mpicc mpirun; do
  command -v $tool > /dev/null 2>&1 || { echo "skip mpi: no $tool"; exit; }
done
case $(mpirun --version 2>&1) in *'Open MPI'*) ;;
  *) echo 'skip mpi: mpirun is not the one of Open MPI'; exit ;;
esac

# For root, and for more ranks than cores; the variables of PRTE are those of Open MPI 5. Where
# processes may not read each other's memory, Open MPI warns of it: so they do not try.
export OMPI_CC="$cc" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMP_NUM_THREADS=1 EDF_DEVICE=auto
limit=; command -v timeout > /dev/null && limit='timeout 60'
if ! $limit mpirun -n 2 true > "$dir/mpirun.log" 2>&1; then
  echo "skip mpi: mpirun does not run here: $(grep -v '^--*$' "$dir/mpirun.log" | head -n 1)"
  exit
fi

bad=0
pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; tail -n 8 "${3:-out}" | sed 's/^/  /'; }

# ---- Built without a warning

build() {                                      # build NAME COMPILER SOURCE FLAGS
  name=$1 compiler=$2 source=$3; shift 3
  if ! $compiler $flags "$@" -I. -Iexamples "$source" -o "$dir/$name" -lm \
      > "$dir/$name.cc" 2>&1; then
    fail "mpi-builds-$name" 'it does not compile' "$dir/$name.cc"
    exit 1
  elif [ -s "$dir/$name.cc" ]; then fail "mpi-builds-$name" 'the compiler warns' "$dir/$name.cc"
  fi
}
mutant() {                                     # mutant NAME SED-COMMAND
  sed "$2" examples/mpi_mnist.c > "$dir/$1.c"
  if cmp -s examples/mpi_mnist.c "$dir/$1.c"; then
    echo "not ok mpi-$1: there is no line to change"
    exit 1
  fi
  build "$1" mpicc "$dir/$1.c" $small -Wno-unused
}
example=examples/mpi_mnist.c
{
  build float mpicc $example -O2
  mutant unweighted 's/weight = (edf_real)my.rows .*my.batch/weight = 1 \/ (edf_real)my.ranks/'
  mutant unsummed '/edf.after_backward = /d'
  build plain-float "$cc" tests/mpi/tools.c $small
  build plain-double "$cc" tests/mpi/tools.c $small -DEDF_REAL=double
} &
build double mpicc $example $small -DEDF_REAL=double
build nccl-float mpicc $example $small -DEDF_NCCL -Itests/mpi
build nccl-double mpicc $example $small -DEDF_NCCL -Itests/mpi -DEDF_REAL=double
gpu=
if command -v ${CXX:-g++} > /dev/null 2>&1 && [ -f edf_cuda.cu ]; then
  ${CXX:-g++} -x c++ -std=c++17 -O1 -Itests/cuda/shim -I. -c tests/mpi/gpu.cu -o "$dir/gpu.o" \
    > "$dir/gpu.cc" 2>&1 || fail mpi-builds-gpu 'it does not compile' "$dir/gpu.cc"
  gpu='gpu nccl-gpu'
  build gpu mpicc $example $small "$dir/gpu.o" -lstdc++
  build nccl-gpu mpicc $example $small -DEDF_NCCL -DFAKE_GPU -Itests/mpi "$dir/gpu.o" -lstdc++
fi
wait
for each in float double plain-float plain-double unweighted unsummed nccl-float nccl-double \
            $gpu; do
  [ -x "$dir/$each" ] || { echo "not ok mpi: no $dir/$each"; exit 1; }
done
pass mpi-builds

nvidia=
for root in /usr /usr/local/cuda "$CUDA_HOME"; do
  [ -f "$root/include/nccl.h" ] && [ -f "$root/include/cuda_runtime.h" ] && nvidia=$root
done
if [ -z "$nvidia" ]; then echo 'skip mpi-builds-nccl: no nccl.h of NVIDIA here'
elif mpicc $flags -Werror $small -DEDF_NCCL -I. -isystem "$nvidia/include" -c $example \
    -o "$dir/nccl.o" > "$dir/nccl.cc" 2>&1; then pass mpi-builds-nccl
else fail mpi-builds-nccl "with $nvidia/include/nccl.h" "$dir/nccl.cc"; fi

cd "$dir" || exit 1
rm -rf images wrong build
mkdir images wrong build
./plain-float draw images 77 -1 && ./plain-float draw wrong 77 42 || exit 1
export EDF_DATA=images
model=build/mpi_mnist.safetensors

# ---- The same parameters

# Rounding: sums of the same numbers in another order. In 24 steps it has grown to 1.2e-7
# in batches of 64, in 78 to 3.6e-7 in those of 3; in double, which has 29 bits more, to 1.7e-16
# and 5.3e-16, about 2^29 times less: so it is rounding, and nothing else. The bounds leave room
# for other compilers. In batches of 1 the other ranks add zeros: nothing is rounded.

# The difference is at most, or else more than, the bound, and the parameters have moved.
differs() { echo "$1" | awk -v bound="$2" '{ exit !($1 > bound && $2 > 0.1) }'; }
close() { echo "$1" | awk -v bound="$2" '{ exit !($1 <= bound && $2 > 0.1) }'; }

same() {                                       # same PROGRAM RANKS BATCH [exact]: as the plain
  name=mpi-$1-$2-ranks-batch-$3
  rm -f $model
  if ! $limit mpirun -n $2 ./$1 --epochs $epochs --batch $3 > out 2>&1; then
    fail $name 'it failed'
    return 0
  fi
  found=$(./plain-double compare 64 $model build/plain.safetensors)
  if ! close "$found" $bound; then
    fail $name "difference, and distance from the start: $found; the bound is $bound"
  elif [ "$4" ] && ! cmp -s $model build/plain.safetensors; then
    fail $name 'not the same bit for bit'
  else pass "$name ($found)"; fi
}

for real in float double; do
  [ $real = float ] && bound=5e-6 || bound=1e-14
  for batch in 64 3 1; do
    case $batch in 64) epochs=12 ;; 3) epochs=3 ;; 1) epochs=1 ;; esac
    ./plain-$real train $epochs $batch 1 > out || exit 1
    same $real 1 $batch exact
    for ranks in 2 4; do
      if [ $batch = 1 ]; then same $real $ranks $batch exact
      else same $real $ranks $batch; fi
    done
    [ $batch = 1 ] || same nccl-$real 4 $batch
    if [ "$gpu" ] && [ $real$batch = float3 ]; then
      same gpu 2 $batch
      same nccl-gpu 4 $batch
    fi
  done
done
[ "$gpu" ] || echo "skip mpi-gpu: no ${CXX:-g++}, or no edf_cuda.cu"
if ./float --epochs 1 > out 2>&1; then pass mpi-without-mpirun
else fail mpi-without-mpirun 'it failed'; fi

# That it can fail: equal weights for unequal parts are another training.
./plain-float train 12 64 1 > out
for ranks in 2 4; do
  $limit mpirun -n $ranks ./unweighted --epochs 12 > out 2>&1
  found=$(./plain-double compare 64 $model build/plain.safetensors)
  if differs "$found" 1e-3; then
    pass "mpi-unweighted-$ranks-ranks-differ ($found)"
  else fail mpi-unweighted-$ranks-ranks-differ "the comparison sees no difference: $found"; fi
done

# ---- A rank that stops: the run ends, says which and why, and the file is as it was

stops() {                                      # stops NAME MESSAGE COMMAND...
  name=$1 message=$2; shift 2
  ./float --epochs 1 > out 2>&1 && cp $model before || exit 1
  "$@" > out 2>&1
  status=$?
  if [ $status = 0 ] || [ $status = 124 ]; then fail "$name" "its exit status is $status"
  elif ! grep -q -E "$message" out; then fail "$name" "no line matches $message"
  elif ! cmp -s $model before; then fail "$name" 'the file has changed'
  else pass "$name"; fi
}
stops mpi-panic '^rank 2 of 4: .*LogLoss' \
  env EDF_DATA=wrong $limit mpirun -n 4 ./float --no-shuffle
stops mpi-other-start '^rank 1 of 2: it starts with other options, parameters or images' \
  $limit mpirun -n 1 ./float --seed 1 : -n 1 ./float --seed 2
stops mpi-other-images '^rank 1 of 2: it starts with other options, parameters or images' \
  $limit mpirun -n 1 ./float --no-shuffle : -n 1 env EDF_DATA=wrong ./float --no-shuffle
stops mpi-unsummed '^rank 1 of 2: its parameters are no longer those of rank 0' \
  $limit mpirun -n 2 ./unsummed
stops mpi-option 'cannot be this number: --epochs' $limit mpirun -n 2 ./float --epochs 0
stops mpi-no-data 'EDF_DATA=nowhere: no file' env EDF_DATA=nowhere $limit mpirun -n 2 ./float

# ---- A rank that is killed

cat > ranked <<'END'
echo $$ > pid.$OMPI_COMM_WORLD_RANK
exec "$@"
END
start() {                                      # start RANKS OPTIONS...: in the background
  ranks=$1; shift
  rm -f pid.*
  $limit mpirun -n $ranks sh ranked ./float "$@" > out 2>&1 &
  run=$!
}
alive() { kill -0 "$1" 2> /dev/null && ! grep -q ') Z ' "/proc/$1/stat" 2> /dev/null; }
until_gone() {                                 # the ranks end soon after mpirun, or never
  for turn in 1 2 3 4 5; do
    left=
    for file in pid.*; do alive "$(cat $file)" && left="$left $(cat $file)"; done
    [ -z "$left" ] && return
    sleep 1
  done
  return 1
}
ended() {                                      # ended NAME RANK NUMBER: after the signal
  wait $run
  status=$?
  if [ $status = 0 ] || [ $status = 124 ]; then fail "$1" "its exit status is $status"
  elif ! grep -q -i "rank $2 .*signal $3" out; then fail "$1" 'no message says which rank'
  elif ! until_gone; then fail "$1" "processes are left:$left"
  else return 0; fi
  return 1
}

for death in KILL:9:1 SEGV:11:3 KILL:9:0; do
  rank=${death##*:} signal=${death%%:*} number=${death#*:}
  name=mpi-$signal-of-rank-$rank
  rm -f build/*
  start 4 --epochs 1000
  while [ ! -s $model ] && alive $run; do sleep 0.1; done
  kill -s $signal "$(cat pid.$rank)"
  ended $name $rank ${number%:*} || continue
  found=$(./plain-double compare 64 $model $model 2> whole.log)
  if [ "${found%% *}" = 0 ]; then pass $name
  else fail $name 'the file is not whole' whole.log; fi
done

# In the middle of writing: that was so when what it was writing is left, and is not whole.
name=mpi-killed-while-it-writes
./float --epochs 1 --hidden 4000 --eta 0.001 > out 2>&1 && cp $model before || exit 1
size=$(wc -c < before)
for turn in 1 2 3 4 5 6 7 8; do
  cp before $model
  rm -f $model.tmp
  start 2 --epochs 20 --hidden 4000 --eta 0.001 --seed 2
  while [ ! -s $model.tmp ] && alive $run; do :; done
  kill -s KILL "$(cat pid.0)"
  ended $name 0 9 || break
  [ -f $model.tmp ] && [ "$(wc -c < $model.tmp)" -lt "$size" ] && break
done
if [ ! -f $model.tmp ]; then fail $name 'it could not be killed there'
elif ! cmp -s $model before; then fail $name 'the file has changed'
else pass "$name ($(wc -c < $model.tmp | tr -d ' ') of $size bytes were written)"; fi
if $limit mpirun -n 2 ./float --epochs 1 > out 2>&1 && [ ! -f $model.tmp ] &&
   ./plain-double compare 64 $model $model > out 2>&1; then pass mpi-again-after-a-death
else fail mpi-again-after-a-death 'it failed'; fi
exit $bad
