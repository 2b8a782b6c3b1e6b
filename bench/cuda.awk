# cuda.awk - one table of what cuda.c and torch_bench.py have printed, and the goals. With
# `quick` set the sizes are not those that the goals are about. Exit status 1 if there is
# nothing to show, or if the two have trained different models.

{ sub(/^bench cuda/, "ours") }
$1 != "ours" && $1 != "torch" { next }
{
  match($0, /precision=[a-z0-9]+/)
  row = substr($0, RSTART + 10, RLENGTH - 10) " " $2
  if (!(row in known)) { known[row] = 1; rows[++n] = row }
  for (i = 3; i <= NF; i++) {
    split($i, pair, "=")
    v[row, $1, pair[1]] = pair[2]
  }
}

function get(row, who, key) { return (row, who, key) in v ? v[row, who, key] : "-" }
function number(x) { return x == "-" ? x : x + 0 }
function over(a, b) { return a == "-" || b == "-" || b <= 0 ? "-" : a / b }
function show(x, digits) { return x == "-" ? x : sprintf("%." digits "f", x) }

# The best of the three: not known before all are.
function fastest(a, b, c) {
  if (a == "-" || b == "-" || c == "-") return "-"
  if (b < a) a = b
  return c < a ? c : a
}

function check(what, ratio, least) {
  if (ratio == "-" || quick) return what " >= " least " not measured"
  return what " >= " least (ratio >= least ? " yes" : " no")
}

function goals(precision, model, eager, compile, captured, best) {
  if (model ~ /^mlp_/) return check("eager", eager, 6) ", " check("captured", captured, 1)
  if (model == "wide_8192") return check("best", best, precision == "tf32" ? 0.85 : 0.95)
  if (model == "lenet") return check("eager", eager, 2)
  if (model == "gpt") return check("eager", eager, 6) ", " check("compile", compile, 2)
  return ""
}

function time_line(row, data,    w, ours, floor, mode, t, r, k) {
  split(row, w, " ")
  split("eager compile captured", mode, " ")
  ours = number(get(row, "ours", data "_us"))
  floor = number(get(row, "ours", "floor_us"))
  for (k = 1; k <= 3; k++) {
    t[k] = number(get(row, "torch", mode[k] "_" data "_us"))
    r[k] = over(t[k], ours)
  }
  printf "%-5s%-10s%-9s%10s%10s%7s%10s%10s%10s%7s%7s%7s  %s\n", w[1], w[2], data,
         show(ours, 1), show(floor, 1), show(over(floor, ours), 2),
         show(t[1], 1), show(t[2], 1), show(t[3], 1), show(r[1], 2), show(r[2], 2),
         show(r[3], 2), goals(w[1], w[2], r[1], r[2], r[3], fastest(r[1], r[2], r[3]))
}

function count_line(row, data,    w, copies) {
  split(row, w, " ")
  copies = get(row, "ours", data "_copies")
  printf "%-5s%-10s%-9s%10s%10s%10s%10s  %s\n", w[1], w[2], data,
         get(row, "ours", data "_ops"), copies, get(row, "ours", data "_bytes"),
         get(row, "ours", data "_waits"),
         data != "resident" || copies == "-" ? "" : "copies = 0 " (copies + 0 ? "no" : "yes")
}

function compare_sizes(row,    a, b) {
  a = get(row, "ours", "parameters")
  b = get(row, "torch", "parameters")
  if (a == "-" || b == "-" || a == b) return
  print row ": " a " parameters in ours, " b " in PyTorch's: not the same model"
  bad = 1
}

END {
  if (!n) { print "bench cuda: nothing was measured"; exit 1 }
  for (i = 1; i <= n; i++) {
    compare_sizes(rows[i])
    if (get(rows[i], "ours", "fed_ops") != "-") counted = 1
  }
  print "Microseconds a step, ours and PyTorch\047s; the floor is the matrix products alone." \
        " E, C, G: eager, compile, captured over ours."
  printf "%-24s%10s%10s%7s%10s%10s%10s%7s%7s%7s  %s\n", "", "ours", "floor", "f/ours", "eager",
         "compile", "captured", "E", "C", "G", "goals"
  for (i = 1; i <= n; i++) { time_line(rows[i], "fed"); time_line(rows[i], "resident") }
  if (counted) {
    print "\nOf a step, at these sizes: all that the device does, copies to it, their bytes," \
          " how often the host waits."
    printf "%-24s%10s%10s%10s%10s  %s\n", "", "device", "copies", "bytes", "waits", "goal"
    for (i = 1; i <= n; i++) { count_line(rows[i], "fed"); count_line(rows[i], "resident") }
  }
  exit bad
}
