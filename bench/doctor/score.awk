# Reads findings.txt, then what bench.sh has collected; prints a line for each run that heard
# less than its cause or more, and the table.
function has(words, list,   n, k, w) {  # is one of the words in the list?
  n = split(words, w, " ")
  for (k = 1; k <= n; k++) if (index(" " list " ", " " w[k] " ")) return 1
  return 0
}
function claims(text,   k) {             # what a finding claims: causes "|" symptoms
  for (k = 1; k <= n_texts; k++) if (index(text, pattern[k])) return meaning[k]
  print "no line of findings.txt is in: " text
  failed = 1
  return "|"
}
function end_of_run(   score) {
  if (run == "") return
  if (!measured) { print "FAILED " run; failed = 1 }
  if (variant == "healthy") {
    if (n_heard) { alarm[name] = 1; print "ALARM " run ": " heard }
  } else {
    score = named ? 1 : symptom ? 0.5 : 0
    runs[kind]++; recall[kind] += score
    if (score < 1 || wrong)
      printf "%s %s (%s): %s\n", score == 1 ? "also" : score ? "half" : "MISS", run, cause,
        n_heard ? heard : "silent"
  }
  run = ""
}
FNR == NR {
  if ($0 ~ /^#/ || !NF) next
  split($0, part, / *[|] */)
  pattern[++n_texts] = part[1]
  meaning[n_texts] = part[2] "|" part[3]
  next
}
$1 == "PROGRAM" {
  end_of_run()
  name = $2; cause = $3
  kind = name; sub(/_.*/, "", kind)
  if (!n_programs[kind]++) kinds[++n_kinds] = kind
}
$1 == "TRUE" { truth = $0 }
$1 == "HEAD" { split($0, head, " ") }     # HEAD healthy, healthy, "faulty", faulty, faulty
$1 == "RUN" {
  end_of_run()
  run = $2; split(run, part, "."); variant = part[2]; seed = part[3]
  n_heard = named = symptom = wrong = measured = 0; heard = ""
}
$1 == "MEASURE" {
  measured = 1
  value[variant, seed] = $2
  wide = head[1 + seed] - head[4 + seed]
  hurts = value["healthy", seed] - value["faulty", seed]
  if (variant == "healthy" && kind != "unusual" && head[4 + seed] !~ /nan|inf/ && \
      value["faulty", seed] !~ /nan|inf/ && hurts * wide < wide * wide / 2)
    print "NO FAULT " run ": " $2 " against " value["faulty", seed]
}
$1 == "doctor:" {
  text = $0; sub(/^doctor: (step [0-9]+: )?/, "", text)
  split(claims(text), part, "|")
  n_heard++
  heard = heard (heard == "" ? "" : "; ") text
  if (variant != "faulty") next
  is_cause = has(cause, part[1]); is_symptom = has(truth, part[2])
  found[kind]++; right[kind] += is_cause; fair[kind] += is_cause || is_symptom
  named += is_cause; symptom += is_symptom; wrong += !is_cause && !is_symptom
}
function row(title, p, r, s, f, c, g, a) {
  printf "%-16s %8d %8s %9s %9s %8s\n", title, p, r ? sprintf("%.2f", s / r) : "", \
    f ? sprintf("%.2f", c / f) : "", f ? sprintf("%.2f", g / f) : "", a
}
END {
  end_of_run()
  for (name in alarm) { kind = name; sub(/_.*/, "", kind); alarms[kind]++ }
  printf "%-16s %8s %8s %9s %9s %8s\n", "kind", "programs", "recall", "precision", "or true",
    "alarms"
  for (k = 1; k <= n_kinds; k++) {
    kind = kinds[k]
    row(kind, n_programs[kind], runs[kind], recall[kind], found[kind], right[kind], fair[kind], \
        alarms[kind] + 0)
    if (kind == "unusual") { odd = n_programs[kind]; odd_alarms = alarms[kind] + 0 }
    if (kind == "unusual") continue
    P += n_programs[kind]; R += runs[kind]; S += recall[kind]; F += found[kind]
    C += right[kind]; G += fair[kind]; A += alarms[kind]
  }
  row("all faults", P, R, S, F, C, G, A + 0)
  printf "false alarms: %d of %d twins, %d of %d unusual programs\n", A, P, odd_alarms, odd
  exit failed
}
