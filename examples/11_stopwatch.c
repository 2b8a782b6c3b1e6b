/* 11_stopwatch.c - a tool of your own: which node takes the time?

     cc -std=c99 -O2 -I. examples/11_stopwatch.c -o build/11_stopwatch -lm && build/11_stopwatch

   The framework calls a node through two function pointers. This tool replaces both functions
   of every node with functions that measure time. The framework calls edf.told for every pass.
   Here edf.told counts the steps. The program prints, with times instead of dots:

     node        forward  backward
     h ...
     loss ...
     20 steps of 2 nodes
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include <time.h>

enum { NODES = 16 };
static struct {
  void (*forward)(Node *y);                /* the forward of the node itself */
  void (*backward)(Node *y);               /* the backward of the node itself */
  double seconds[2];                       /* time in forward, time in backward */
} timer[NODES];
static int steps;

static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void timed_forward(Node *y) {
  double started = now();
  timer[y->position].forward(y);
  timer[y->position].seconds[0] += now() - started;
}
static void timed_backward(Node *y) {
  double started = now();
  timer[y->position].backward(y);
  timer[y->position].seconds[1] += now() - started;
}

/* Replaces the functions of all nodes with the timed functions above. */
static void time_all_nodes(void) {
  for (int i = 0; i < edf.n_compnodes && i < NODES; i++) {
    Node *y = edf.compnodes[i];
    timer[i].forward = y->forward;
    timer[i].backward = y->backward;
    y->forward = timed_forward;
    y->backward = timed_backward;
  }
}

static void count_steps(edf_event event, Node *x) {
  (void)x;
  if (event == EDF_END_BACKWARD) steps++;
}

int main(void) {
  Parameter *W = edf_parameter("W[200,100]"), *x = edf_parameter("x[50,200]");
  CompNode *h = edf_name(Einsum("h[b,j] = W[I,j] x[b,I]", W, x), "h");
  CompNode *loss = edf_name(Mean(h), "loss");
  edf_init_uniform(W, -1, 1);
  edf_init_uniform(x, -1, 1);
  time_all_nodes();
  edf.told = count_steps;
  for (int step = 0; step < 20; step++) {
    Forward();
    Backward(loss);
  }
  printf("%-10s %8s %9s\n", "node", "forward", "backward");
  for (int i = 0; i < edf.n_compnodes; i++)
    printf("%-10s %6.1f ms %6.1f ms\n", edf.compnodes[i]->name, 1e3 * timer[i].seconds[0],
           1e3 * timer[i].seconds[1]);
  printf("%d steps of %d nodes\n", steps, edf.n_compnodes);
  edf_clear();
  return 0;
}
