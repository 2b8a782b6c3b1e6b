/* Watchers: who is told what runs, in which order; what is run meanwhile is told to nobody; a
   stop, a second graph and edf_clear.

   Built as: float double none sanitized shim */
#define HARNESS_CATCH
#include "harness.h"
#include "edf.h"

static const char *const event_name[] = { "forward(", "+", "-", ")", "backward(", "+", "-", ")",
                                          "update ", "cleared" };
static char log_of[3][1000];
static int runs_itself, stops, leaves, clears;

typedef struct { edf_watcher w; int number; } watcher;
static watcher first, second, passes;

static void note(int k, const char *what, const edf_node *x) {
  size_t n = strlen(log_of[k]);
  snprintf(log_of[k] + n, sizeof log_of[k] - n, "%s%s ", what, x ? x->name : "");
}

static void told(edf_watcher *w, edf_event event, edf_node *x) {
  watcher *me = (watcher *)(void *)w;
  note(me->number, event_name[event], x);
  if (runs_itself && event == EDF_END_FORWARD) { runs_itself = 0; edf_forward(); }
  if (stops && event == EDF_BEFORE_BACKWARD) { stops = 0; edf_forward_to(NULL); }
  if (clears && event == EDF_END_FORWARD) { clears = 0; edf_clear(); }
  if (leaves && me == &first && event == EDF_END_FORWARD) { leaves = 0; edf_unwatch(w); }
}

static void forget_logs(void) { memset(log_of, 0, sizeof log_of); }

static void begin(void) {
  watcher *all[] = { &first, &second, &passes };
  for (int k = 0; k < 3; k++) {
    all[k]->w.told = told;
    all[k]->number = k;
  }
  runs_itself = stops = leaves = clears = 0;
  forget_logs();
}

static Parameter *p;
static CompNode *s, *loss;
static void build(void) {
  p = edf_parameter("p[2]");
  s = edf_name(Square(p), "s");
  loss = edf_name(Sum(s), "loss");
}

static void step(void) {
  Forward();
  Backward(loss);
  SGD((edf_real)0.1);
}

#define IS(k, text) CHECK(!strcmp(log_of[k], text), "%s", log_of[k])
static const char *const a_step =
    "forward( +s -s +loss -loss ) backward(loss +loss -loss +s -s )loss update p ";

static void order(void) {
  begin();
  build();
  edf_watch(&first.w);
  edf_watch_passes(&passes.w);
  step();
  IS(0, a_step);
  IS(2, "forward( ) backward(loss )loss update p ");
  edf_unwatch(&first.w);
  forget_logs();
  Forward();
  IS(0, "");
  IS(2, "forward( ) ");
  edf_forward_to(s);
  IS(2, "forward( ) forward(s ) ");
  edf_clear();
  IS(2, "forward( ) forward(s ) cleared ");
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

static void several(void) {
  begin();
  build();
  edf_watch(&first.w);
  edf_watch(&second.w);
  runs_itself = leaves = 1;
  Forward();
  IS(0, "forward( +s -s +loss -loss ) ");                    /* once, and then it left */
  IS(1, "forward( +s -s +loss -loss ) ");
  Forward();
  IS(0, "forward( +s -s +loss -loss ) ");
  IS(1, "forward( +s -s +loss -loss ) forward( +s -s +loss -loss ) ");
  edf_clear();
}

/* One clears the graph: the other's next word is that, and its last. */
static void clearing(void) {
  begin();
  build();
  edf_watch(&first.w);
  edf_watch(&second.w);
  clears = 1;
  Forward();
  IS(0, "forward( +s -s +loss -loss ) cleared ");
  IS(1, "forward( +s -s +loss -loss cleared ");
  CHECK(memory.live == 0 && !edf.telling, "%ld blocks", memory.live);
}

/* After a caught stop all are still there, and told. */
static void after_a_stop(void) {
  begin();
  build();
  edf_watch(&first.w);
  edf_watch_passes(&passes.w);
  Forward();
  stops = 1;
  TRY(Backward(loss));
  CHECK(panicked && strstr(caught, "edf_forward_to: the node is NULL"), "%s", caught);
  forget_logs();
  step();
  IS(0, a_step);
  IS(2, "forward( ) backward(loss )loss update p ");
  edf_clear();
  forget_logs();
  build();
  step();
  IS(0, "");
  edf_clear();
}

static void two_graphs(void) {
  begin();
  build();
  edf_watch(&first.w);
  edf_graph a = edf;
  edf = edf_new_graph();
  edf_watch(&second.w);
  build();
  Forward();
  IS(0, "");
  IS(1, "forward( +s -s +loss -loss ) ");
  edf_clear();
  IS(1, "forward( +s -s +loss -loss ) cleared ");
  edf = a;
  Forward();
  IS(0, "forward( +s -s +loss -loss ) ");
  edf_clear();
}

static void refused(void) {
  begin();
  TRY(edf_watch(NULL));
  CHECK(panicked && strstr(caught, "edf_watch: the watcher is NULL"), "%s", caught);
  first.w.told = NULL;
  TRY(edf_watch_passes(&first.w));
  CHECK(panicked && strstr(caught, "edf_watch_passes: told is NULL"), "%s", caught);
  first.w.told = told;
  edf_watch(&first.w);
  TRY(edf_watch(&first.w));
  CHECK(panicked && strstr(caught, "edf_watch: it watches already"), "%s", caught);
  TRY(edf_watch_passes(&first.w));
  CHECK(panicked && strstr(caught, "it watches already"), "%s", caught);
  TRY(edf_unwatch(&second.w));
  CHECK(panicked && strstr(caught, "edf_unwatch: it does not watch this graph"), "%s", caught);
  edf_clear();
  TRY(edf_unwatch(&first.w));
  CHECK(panicked && strstr(caught, "it does not watch this graph"), "%s", caught);
}

/* What a check runs is told to nobody; what a program steps through is. */
static void checks_and_steps(void) {
  begin();
  build();
  edf_watch(&first.w);
  edf_gradcheck(loss);
  IS(0, "");
  CHECK(edf_step_forward() == s, "the first");
  IS(0, "forward( +s -s ");
  CHECK(edf_step_forward() == loss && !edf_step_forward(), "the second and last");
  IS(0, "forward( +s -s +loss -loss ) ");
  edf_clear();
}

int main(void) {
  RUN(order);
  RUN(several);
  RUN(clearing);
  RUN(after_a_stop);
  RUN(two_graphs);
  RUN(refused);
  RUN(checks_and_steps);
  return harness_report();
}
