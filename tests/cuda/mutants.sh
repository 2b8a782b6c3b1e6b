#!/bin/sh
# Deliberate mistakes in edf_cuda.cu: each is one substitution on a copy, which is compiled for
# the emulated GPU and runs tests/cuda/small.c in several modes. Every one must be noticed: by
# numbers that are not the CPU's, an exit status, something left behind, or a race.
#   sh tests/cuda/mutants.sh [directory for what is built [2/3 | names of mutants]]

cd "$(dirname "$0")/../.." || exit 1
out=${1:-build/tests/cuda_mutants}
[ $# -gt 0 ] && shift
from=edf_cuda.cu
CC=${CC:-cc}
[ "$CXX" ] || { command -v clang++ >/dev/null && CXX=clang++; }      # half the time of g++'s
CXX=${CXX:-g++}
command -v "$CXX" >/dev/null || { echo "skip cuda_mutants: no $CXX"; exit; }
racer=$CXX; command -v g++ >/dev/null && racer=g++     # the detector of clang 14 forgets some
racer="$racer -fsanitize=thread"

# NAME LINES SUBSTITUTION: so many lines change. After an r, models in which the race detector
# has to see it.
mutants() {
  cat <<'END'
not_stale 1 s/a->here = (char)(gpu.sync && !a->own);/a->here |= gpu.sync;/
no_poison 1 s/  if (a->here && !a->own && !gpu.sync)$/  if (0)/
not_uploaded 1 s/(!whole && !a->there)/(!whole \&\& a->there)/
copy_to_host 1 /^static void upload(/,/^}/s/cudaMemcpyHostToDevice/cudaMemcpyDeviceToHost/
arrays_overlap 1 s/    found->at += bytes;/    found->at += bytes \/ 2;/
own_array_stays_small 1 s/if (a && a->bytes < n \* sizeof(real))/if (a \&\& !a->bytes)/
buffer_reused_at_once 1 s/CU(cudaEventSynchronize(stage.sent\[stage.turn\]));/;/
input_sent_once 1 s/return edf.direction > 0 || s->host != s->x->value;/return s->host != s->x->value;/
draws_not_sent 1 s/stage.control\[1\] != edf.draws/stage.control[1] > edf.draws/
sum_without_barrier 1 s/^      __syncthreads();//
sum_adds_always 1 s/out\[at.o\] = t.assign ? t.alpha \* sum :/out[at.o] = t.assign > 1 ? t.alpha * sum :/
segments_alpha_twice 1 s/if (partial) partial\[segment \* t.outs + o\] = sum;/if (partial) partial[segment * t.outs + o] = t.alpha * sum;/
sums_race 1rscatter s/    if (l\[i\].n > 1 && s <= reach) {/    if (l[i].n > 1 \&\& 0 > reach) {/
wrong_transpose 1 s/cublasOperation_t t1 = m\[first\].tall == tall ? CUBLAS_OP_N : CUBLAS_OP_T;/cublasOperation_t t1 = m[first].tall == tall ? CUBLAS_OP_T : CUBLAS_OP_N;/
wrong_leading_dimension 1 s/g.ld = packed ? (m->tall ? m->row.n : m->column.n) :/g.ld = packed ? (m->tall ? m->column.n : m->row.n) :/
wrong_batch_stride 1 s/m\[second\].batch\[0\], &beta/m[first].batch[0], \&beta/
wrong_packed_batch_stride 1 s/    g.batch\[i\] = packed && s ? dense : s;/    g.batch[i] = s;/
wrong_address_in_batch 1 s/pointer\[2 \* n + i\] = c + (u64)at\[EDF_OUT\]/pointer[2 * n + i] = c + (u64)at[EDF_A]/
beta_always_1 1 s/gemm(r, m, (real)(direct && !assign));/gemm(r, m, (real)direct);/
beta_always_0 1 s/gemm(r, m, (real)(direct && !assign));/gemm(r, m, 0);/
col2im_beyond 1 s/ && i < t.g\[k\].ni;/;/
workspace_of_cublas 1 s/CB(cublasSetWorkspace(gpu.blas, gpu.workspace, bytes));/;/
gemm_in_other_stream 1 s/CB(cublasSetStream(gpu.blas, gpu.stream));/;/
tie_to_the_last 1 s/if (v > most || v != v)/if (v >= most || v != v)/
max_loses_nan 1 s/if (v > most || v != v)/if (v > most)/
windows_race 1rwindows s/int apart = writes_apart(w->t.loop, w->t.n, EDF_A, NULL);/int apart = 1;/
each_forgets_the_last 1 s/threadIdx.x; i < (n); /threadIdx.x; i + 1 < (n); /
each_goes_round_wrong 1 s/i += (size_t)gridDim.x \* blockDim.x$/i += (size_t)gridDim.x * blockDim.x + 1/
gradient_stays_fresh 1 /^static real \*grad_of(/,/^}/s/  x->fresh = 0;//
gradient_always_fresh 1 s/  \*assign = x->fresh;/  *assign = 1;/
shuffle_of_16 1 s/v += __shfl_xor_sync((unsigned)ALL_LANES, v, k);/v += __shfl_xor_sync((unsigned)ALL_LANES, v, k, 16);/
softmax_sees_ahead 1 s/(unsigned)(b % period) + 1 : K;/(unsigned)(b % period) + 2 : K;/
batch_norm_running 1 s/(sample \* q\[c\] - variance\[c\])/(q[c] - variance[c])/
batch_norm_trains_always 1 s/  int trained = own\[4 \* C\] > 0;/  int trained = own[4 * C] >= 0;/
mask_one_off 1 s/m->draws + i + 1, limit/m->draws + i, limit/
mask_of_the_first_node 1 s/{ control\[0\], control\[1\] + before, rate }/{ control[0], control[1], rate }/
mask_not_counted 1 /^static void replay(/,/^}/s/  edf.draws += r->draws;//
embedding_last_wins 1 s/if (k\[b\] == row) sum += dy/if (k[b] == row) sum = dy/
concat_races 1 s/if (y->in\[i\] == y->in\[k\]) return 1;/if (y->in[i] == y->in[k] \&\& !y) return 1;/
concat_begins_again 1 s/; first = k, begin = end) {/; first = k) {/
momentum_forgets 1 s/\*m = c\[1\] \* \*m + c\[0\] \* d;/*m = *m + c[0] * d;/
adamw_no_decay 1 s/\*p = c\[5\] \* \*p - /*p = *p - /
table_not_renewed 1 s/same = same && !memcmp(/same = same \&\& memcmp(/
rates_overflow 1 s/if (set == SETS) {/if (set > SETS) {/
two_updates_at_once 1 s/pending.rule != rule || is_pending(p) ||/pending.rule != rule ||/
update_after_the_pass 1 /^static int pass(/,/^}/s/  flush_updates();//
update_after_the_read 1 /^static void pull(/,/^}/s/  flush_updates();//
norm_without_barrier 1 s/^    __syncthreads();//
fill_left_out 1 s/a->even >= n && a->number == number/a->even >= n/
fill_remembered 1 /^static void \*out_of(/,/^}/s/  a->even = 0;//
key_without_training 1 s/(u64)(edf.training << 1 | edf.accumulate)/(u64)edf.accumulate/
key_without_loss 3 s/edf.direction < 0 ? edf.loss : NULL);/NULL);/;s/(u64)x->active | .*<< 1);/1);/;s/  key = mix(key, grad ? even + grad->even : 0);//
key_without_fresh 2 s/x->needs_grad | x->fresh << 1/x->needs_grad/;s/  key = mix(key, grad ? even + grad->even : 0);//
key_without_inputs 1 s/if (x->active) key = mix(mix(key, stage.slots\[i\].at), /if (x->active < 0) key = mix(mix(key, stage.slots[i].at), /
recording_of_any_batch 1 s/r.graph == edf.id && r.batch != edf.batch/r.graph == edf.id \&\& r.batch < 0/
recording_marks_nothing 1 /^static void replay(/,/^}/s/    mark_written(a);//
recording_outlives_the_arena 2 /^static void drop_recordings(/,/^}/{s/    if (r.exec) .*//;s/    r.exec = NULL;//}
recording_outlives_its_nodes 1 /^static void forget(/,/^}/s/  forget_recordings();//
closing_forgets 1 /^extern "C" void edf_cuda_close/,/^}/s/download(a, a->bytes);/;/
graph_leaks 1 /^static int record(/,/^}/s/  CU(cudaGraphDestroy(graph));$//
executable_graph_leaks 1 /^static void drop(/,/^}/s/  if (r->exec) .*//
host_node_recorded 3 s/if (current) current->needs_host = 1;//
push_ignored 1 /^static void push(/,/^}/s/  a->there = 0;//
push_not_before_recording 1 s/  upload_stale();//
END
}

models() { case $1 in *r*) echo "${1#*r}" ;; esac; }

# compiles COMPILER FILE.cu PROGRAM
compiles() {
  $1 -x c++ -std=c++17 -O0 -Itests/cuda/shim -I. -c "$2" -o "$3.o" 2> "$3.err" &&
    $1 "$out/cuda_small.o" "$3.o" -o "$3" -lm 2>> "$3.err" && rm "$3.o"
}

# notices PROGRAM SETTINGS MODELS: says how, or fails
notices() {
  env $2 timeout 100 "$1" $3 > "$1.out" 2> "$1.err"
  status=$?
  if [ $status != 0 ]; then
    echo "exit status $status:" \
      "$(grep -a -m 1 -e '^cudashim' -e '^edf: [^Gn]' -e WARNING "$1.err" | cut -c 1-150)"
  elif grep 'without CUDA graphs' "$1.err"; then :
  else
    sh tests/cuda/same.sh "$out/cpu" "$1.out" > "$1.diff" && return 1
    head -n 1 "$1.diff"
  fi
}

# one NAME LINES SUBSTITUTION
one() {
  copy=$out/$1.cu how=
  sed "$3" "$from" > "$copy" || return
  changed=$(diff "$from" "$copy" | grep -c '^<')
  [ "$changed" = "${2%%r*}" ] || { echo "not ok mutant $1: $changed lines changed"; return; }
  only=$(models "$2") with=$CXX
  [ "$only" ] && with=$racer
  if ! compiles "$with" "$copy" "$out/$1"; then
    echo "not ok mutant $1: it does not compile, see $out/$1.err"
    return
  fi
  how=$(notices "$out/$1" X=1 "${only:-small}") || [ "$only" ] ||
    how=$(notices "$out/$1" X=1 '') || how=$(notices "$out/$1" EDF_GRAPHS=0 small) ||
    how=$(notices "$out/$1" 'CUDASHIM_ORDER=rev CUDASHIM_LAZY=0' small)
  rm -f "$out/$1"
  [ "$how" ] && echo "ok mutant $1: $how" || echo "not ok mutant $1: survived"
}

mkdir -p "$out"
$CC -std=c99 -O1 -I. -c tests/cuda/small.c -o "$out/cuda_small.o" &&
  compiles "$CXX" "$from" "$out/right" || { echo 'not ok mutants: nothing compiles'; exit 1; }
EDF_DEVICE=cpu "$out/right" > "$out/cpu" || { echo 'not ok mutants: not on the CPU'; exit 1; }
if how=$(notices "$out/right" X=1 ''); then
  echo "not ok mutants: without a mutation: $how"
  exit 1
fi
echo 'int main() { return 0; }' > "$out/probe.cpp"
{ $racer "$out/probe.cpp" -o "$out/probe" && "$out/probe"; } >/dev/null 2>&1 || racer=

# A part, 2/3: every third, from the second. Else all, or those that are named.
case $1 in [0-9]*/*) part=${1%/*} of=${1#*/}; shift ;; *) part=0 of=1 ;; esac
mutants | while read -r name lines expression; do
  at=$((at + 1))
  case " $* " in
    '  ') [ $((at % of)) = $((part % of)) ] || continue ;;
    *" $name "*) ;;
    *) continue ;;
  esac
  if [ "$(models "$lines")" ] && [ -z "$racer" ]; then
    echo "skip mutant $name: no -fsanitize=thread"
  else one "$name" "$lines" "$expression"; fi
done | tee "$out/verdicts"
! grep -q '^not ok' "$out/verdicts" && grep -q '^ok' "$out/verdicts"
