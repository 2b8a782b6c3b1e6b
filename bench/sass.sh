#!/bin/sh
# How many machine instructions has the innermost loop of a kernel of edf_cuda.cu?
#   sh bench/sass.sh            CUDA_ARCH=90   REV=COMMIT for the edf_cuda.cu of that commit
#
# nvcc compiles, and cuobjdump prints the machine code. No GPU is needed. A GPU with P processors
# at f GHz starts 128 P f thread instructions in a nanosecond, which is 3.3e4 on an H200: so 100
# instructions an entry of 12 bytes take as long as 4 TB/s. If the toolkit has no cuobjdump,
# build/venv gets NVIDIA's from PyPI.
#
# A sum with one term for each entry has no loop: then all instructions of the kernel count, with
# those of branches that are not taken. Other sums have two versions of the loop, with a winner of
# a maximum and without; the shorter one counts. The general sum_kernel has a loop over the loops
# of the sum inside of the loop over its terms, so each term takes the number for each of them.

cd "$(dirname "$0")/.." || exit 1
dir=build/sass arch=${CUDA_ARCH:-90}
mkdir -p $dir
PATH=$PATH:/usr/local/cuda/bin:$PWD/build/venv/bin
nvcc=$(command -v "${NVCC:-nvcc}") || { echo 'sass: no nvcc' >&2; exit 2; }
if ! command -v cuobjdump > /dev/null; then
  [ -d build/venv ] || python3 -m venv build/venv
  build/venv/bin/pip install -q nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm || exit 2
  tools=$(dirname "$(find "$PWD/build/venv" -name cuobjdump -type f | head -n 1)")
  chmod +x "$tools"/*
  PATH=$PATH:$tools
fi

tree=.
if [ "$REV" ]; then
  tree=$dir/tree
  rm -rf $tree
  mkdir -p $tree
  git archive "$REV" edf.h edf edf_cuda.cu | tar x -C $tree || exit 2
fi
"$nvcc" -std=c++17 -O3 -arch=sm_$arch -cubin -I$tree -o $dir/edf.cubin $tree/edf_cuda.cu || exit 1
cuobjdump -sass $dir/edf.cubin > $dir/edf.sass || exit 1

# A loop is a branch backwards. It is innermost if no other one ends inside it. Of these, the
# shortest one with a load is printed, or else the longest one.
awk -v table='
    sum_kernel:all other sums
    max_kernel:the greatest entries of windows
    scatter_kernel:the gradient of a lookup
    update_kernel:an update of SGD or Adam
    map_kernel<Relu>:four entries of a Relu
    short_sum_kernel<200>:a broadcast, a bias
    short_sum_kernel<130>:a sum over two loops
    short_sum_kernel<600>:im2col
    short_sum_kernel<632>:col2im' '
  BEGIN {
    n = split(table, line, "\n")
    for (i = 1; i <= n; i++) {
      split(line[i], word, ":")
      sub(/^ */, "", word[1])
      if (word[1] != "") does[word[1]] = word[2]
    }
  }
  function finish(   i, k, inner, n, best, most) {
    if (!(name in does)) return
    for (i = 1; i <= loops; i++) {
      inner = 1
      for (k = 1; k <= loops; k++)
        if (k != i && from[i] <= from[k] && to[k] <= to[i]) inner = 0
      n = 0; loads = 0
      for (k = 1; k <= count; k++)
        if (from[i] <= at[k] && at[k] <= to[i]) { n++; loads += text[k] ~ /LDG/ }
      if (inner && loads && (!best || n < best)) best = n
      if (inner && n > most) most = n
    }
    if (!best && most) best = most
    printf "%-34s %-22s %5d instructions%s\n", does[name], name, best ? best : count,
           best ? " in the innermost loop" : ""
  }
  function hex(s,   i, n) {
    for (i = 1; i <= length(s); i++) n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1
    return n
  }
  /Function : / {
    finish()
    name = ""; count = loops = 0
    for (w in does) if (w !~ /</ && $3 ~ "[0-9]" w) name = w
    if (match($3, /short_sum_kernelILi[0-9]+E/)) {
      name = substr($3, RSTART, RLENGTH - 1)
      sub(/ILi/, "<", name)
      name = name ">"
    }
    if ($3 ~ /10map_kernelI4ReluLi4E/) name = "map_kernel<Relu>"
  }
  name && match($0, /\/\*[0-9a-f]+\*\//) && /;/ && !/NOP/ {
    at[++count] = hex(substr($0, RSTART + 2, RLENGTH - 4))
    text[count] = $0
    if ($0 ~ /BRA/ && match($0, /0x[0-9a-f]+ *;/)) {
      target = substr($0, RSTART + 2)
      sub(/ *;.*/, "", target)
      if (hex(target) < at[count]) { loops++; from[loops] = hex(target); to[loops] = at[count] }
    }
  }
  END { finish() }' $dir/edf.sass | sort
