/* 11_watcher.c - a tool of one's own: which node takes the time?

     cc -std=c99 -O2 -I. examples/11_watcher.c -o build/11_watcher -lm && build/11_watcher

   Whoever wants to be told what runs calls edf_watch. It learns of every node before and after
   its forward and its backward, and needs nothing but the public names. It prints, with other
   times:

     node        forward  backward
     h ...
     loss ...
     20 steps of 2 nodes
*/
#define EDF_IMPLEMENTATION
#include "edf.h"
#include <time.h>

enum { NODES = 16 };
typedef struct {
  edf_watcher watcher;                     /* the first member: told gets a pointer to it     */
  edf_node *node[NODES];
  double started, seconds[NODES][2];
  int nodes, steps;
} stopwatch;

static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static int number_of(stopwatch *s, edf_node *x) {
  int k = 0;
  while (k < s->nodes && s->node[k] != x) k++;
  if (k == s->nodes && k < NODES) s->node[s->nodes++] = x;
  return k < NODES ? k : NODES - 1;
}

static void told(edf_watcher *w, edf_event event, edf_node *x) {
  stopwatch *s = (stopwatch *)(void *)w;
  if (event == EDF_BEFORE_FORWARD || event == EDF_BEFORE_BACKWARD) s->started = now();
  if (event == EDF_AFTER_FORWARD) s->seconds[number_of(s, x)][0] += now() - s->started;
  if (event == EDF_AFTER_BACKWARD) s->seconds[number_of(s, x)][1] += now() - s->started;
  if (event == EDF_END_BACKWARD) s->steps++;
}

static void print_times(const stopwatch *s) {
  printf("%-10s %8s %9s\n", "node", "forward", "backward");
  for (int k = 0; k < s->nodes; k++)
    printf("%-10s %6.1f ms %6.1f ms\n", s->node[k]->name, 1e3 * s->seconds[k][0],
           1e3 * s->seconds[k][1]);
  printf("%d steps of %d nodes\n", s->steps, s->nodes);
}

int main(void) {
  static stopwatch clock_of_nodes;
  Parameter *W = edf_parameter("W[200,100]"), *x = edf_parameter("x[50,200]");
  CompNode *h = edf_name(Einsum("h[b,j] = W[I,j] x[b,I]", W, x), "h");
  CompNode *loss = edf_name(Mean(h), "loss");
  edf_init_uniform(W, -1, 1);
  edf_init_uniform(x, -1, 1);
  clock_of_nodes.watcher.told = told;
  edf_watch(&clock_of_nodes.watcher);
  for (int step = 0; step < 20; step++) {
    Forward();
    Backward(loss);
  }
  print_times(&clock_of_nodes);
  edf_clear();
  return 0;
}
