#!/bin/sh
# For the Makefile: nvcc's flags for the GPUs of this machine; without one, for all kinds that
# nvcc knows. CUDA_ARCH=90, or "80 90", says which. It stands beside the tests of the same file,
# which need it as well.

kinds=$CUDA_ARCH
if [ -z "$kinds" ]; then                   # where it fails, nvidia-smi prints errors to stdout
  kinds=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
          sed -n 's/^\([0-9]*\)\.\([0-9]\)$/\1\2/p' | sort -u)
fi
[ "$kinds" ] || { echo '-arch=all-major'; exit; }
for kind in $kinds; do
  case $kind in *[!0-9a-z]*|[!0-9]*)
    echo "make: CUDA_ARCH=$CUDA_ARCH: expected numbers, as in CUDA_ARCH=90" >&2; exit 1 ;;
  esac
  printf '%s ' "-gencode arch=compute_$kind,code=sm_$kind"
done
echo
