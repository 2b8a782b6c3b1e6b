# python_with.sh - finds a Python. After `. tests/python_with.sh JOB MODULE ...` it is $python,
# or the job is skipped: that of a virtual environment in build/venv, or python3.
job=$1
shift
python=
for each in build/venv/bin/python python3; do
  $each -c "import $(echo "$*" | sed 's/ /, /g')" 2> /dev/null && python=$each && break
done
[ "$python" ] || { echo "skip $job: no python3 with $*"; exit; }
