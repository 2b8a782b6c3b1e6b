# python_with.sh - finds a Python that has modules: that of build/venv, or python3.
#   job=onnx modules='onnx onnxruntime'
#   . tests/python_with.sh               sets $python, or skips the job

python=
for each in build/venv/bin/python python3; do
  $each -c "import $(echo "$modules" | sed 's/ /, /g')" 2> /dev/null && python=$each && break
done
[ "$python" ] || { echo "skip $job: no python3 with $modules"; exit; }
