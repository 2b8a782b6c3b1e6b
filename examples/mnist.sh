#!/bin/sh
# mnist.sh - downloads the four MNIST files into data/mnist and unpacks them.
# It checks the unpacked files, because each mirror packs them differently. A file gets its name
# after its check. So you can stop the script and start it again.
set -u
dir=${1:-data/mnist}
mirrors='https://storage.googleapis.com/cvdf-datasets/mnist
https://ossci-datasets.s3.amazonaws.com/mnist
https://raw.githubusercontent.com/fgnt/mnist/master'

files='ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5 train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7 t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2 t10k-labels-idx1-ubyte'

fail() {
  echo "mnist.sh: $*" >&2
  exit 1
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"
  elif command -v shasum >/dev/null; then shasum -a 256 "$1"
  else openssl dgst -sha256 -r "$1"
  fi | cut -d ' ' -f 1
}

# get SUM NAME: downloads a file from the first mirror that has the right file
get() {
  if [ "$(sha256 "$dir/$2" 2>/dev/null)" = "$1" ]; then
    echo "$dir/$2 exists"
    return 0
  fi
  for mirror in $mirrors; do
    echo "$mirror/$2.gz"
    curl -fsSL --connect-timeout 10 -o "$part.gz" "$mirror/$2.gz" || continue
    gzip -dc "$part.gz" >"$part" || continue
    if [ "$(sha256 "$part")" != "$1" ]; then
      echo "  not the right file: its SHA-256 is $(sha256 "$part")" >&2
      continue
    fi
    mv "$part" "$dir/$2" && return 0
  done
  return 1
}

command -v curl >/dev/null || fail "curl is not installed"
made=; [ -d "$dir" ] || made=$dir
mkdir -p "$dir" || fail "cannot make the directory $dir"
part=$dir/.part$$
trap 'rm -f "$part" "$part.gz"; [ -z "$made" ] || rmdir -p "$made" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM

echo "$files" | while read -r sum name; do get "$sum" "$name" || exit 1; done || fail "\
no mirror has sent the files. Is there a network connection?
  You can also copy the unpacked files train-images-idx3-ubyte, train-labels-idx1-ubyte,
  t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte to $dir. If they are in another
  directory, packed or unpacked, run EDF_DATA=directory make run. Without these files
  \`make run\` draws digits."
echo "MNIST is in $dir"
