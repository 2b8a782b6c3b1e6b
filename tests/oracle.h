/* oracle.h - the prelude of the programs that oracle.py draws: it names nodes, feeds Inputs,
   fills Parameters and prints numbers. It uses public names that 2.0 and 3.0 have.
   Each printed line is a letter, a label, a shape and numbers. V is a value, G a gradient, P a
   Parameter after the step, N another number. E is an error, X a crash; they end a program. */
#ifndef ORACLE_H
#define ORACLE_H
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ORACLE_IMPLEMENTATION
static jmp_buf oracle_home;
static char oracle_said[4000];
#define EDF_PANIC(message) \
  (snprintf(oracle_said, sizeof oracle_said, "%s", message), longjmp(oracle_home, 1))
#define EDF_IMPLEMENTATION
#endif
#include "edf.h"
#if defined ORACLE_SLIDE && defined __has_include        /* slides and layers of 3.0 */
#if __has_include("edf_slide.h")
#include "edf_slide.h"
#endif
#endif

/* ---- Calls whose signature differs */
#ifdef edf_grouped_conv_params             /* version 3.0 does not have groups */
#define CONV_PARAMS(size, n_in, n_out) edf_conv_params(2, size, n_in, n_out)
#define RESIDUAL_PARAMS(size, n) edf_residual_params(2, size, n)
#else
#define CONV_PARAMS(size, n_in, n_out) edf_conv_params(size, n_in, n_out)
#define RESIDUAL_PARAMS(size, n) edf_residual_params(size, n)
#endif
#ifdef edf_adagrad                         /* version 3.0 does not have AdaGrad */
#define UPDATE_ADAM(p, c) edf_update_adamw(p, c[0], c[1], c[2], c[3], c[4])
#else
#define UPDATE_ADAM(p, c) edf_update(p, &edf_adam_rule, c)
#endif

/* ---- The nodes that a program has named */
enum { REALS = 0, MASK = -1 };           /* what an Input is fed with; n > 0: classes below n */
typedef struct {
  edf_graph graph;
  struct { edf_node *x; const char *label; int feeds, batch; } node[100];
  int n, step, rows;
  edf_node *loss;
} oracle_world;
static oracle_world now, other;          /* the graph that runs, and a second one */

/* Returns a pseudo-random number below 2^23 for entry i of a tensor. */
static unsigned draw(const char *label, int step, size_t i) {
  unsigned k = (unsigned)i * 7919u + (unsigned)step;
  do k = ((k ^ k >> 15) * 0x7feb352du) ^ (unsigned char)*label; while (*label++);
  return ((k ^ k >> 16) * 0x846ca68bu) >> 9;
}
/* Returns one between -1 and 1 that a float holds exactly. */
static edf_real wave(const char *label, int step, size_t i) {
  return (edf_real)((draw(label, step, i) - 4194303.5) / 4194304);
}
static edf_node *known(const char *label) {
  for (int i = 0; i < now.n; i++) if (!strcmp(now.node[i].label, label)) return now.node[i].x;
  return NULL;
}
static edf_node *see(const char *label, edf_node *x) {
  memset(&now.node[now.n], 0, sizeof now.node[0]);
  now.node[now.n].label = label;
  return now.node[now.n++].x = x;
}
/* Fills the node that was named last. */
static edf_node *fill(edf_node *p) {
  for (size_t i = 0; i < p->size; i++)
    p->value[i] = wave(now.node[now.n - 1].label, 0, i) * (edf_real)(p->size > 40 ? 0.3 : 1);
  edf_push(p);
  return p;
}
static edf_node *parameter(const char *declaration) {
  edf_node *p = edf_parameter("%s", declaration);
  return fill(see(p->name, p));
}
/* Names and fills the Parameters that a text has made. */
static void see_parameters(void) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (!known(edf.parameters[i]->name)) fill(see(edf.parameters[i]->name, edf.parameters[i]));
}

/* ---- Feeding */
static void feed_node(int n) {
  edf_node *x = now.node[n].x;
  const char *label = now.node[n].label;
  int rows = now.node[n].batch ? now.rows : 1, feeds = now.node[n].feeds;
  size_t size = now.node[n].batch ? (size_t)rows : x->size;
  for (int d = 1; now.node[n].batch && d < x->rank; d++) size *= (size_t)x->dim[d];
  edf_real *data = (edf_real *)malloc(size * sizeof *data);
  for (size_t i = 0; i < size; i++)
    data[i] = feeds > 0 ? (edf_real)(draw(label, now.step, i) % (unsigned)feeds)
            : feeds == MASK ? (edf_real)(i == 0 || draw(label, now.step, i) % 3 != 0)
            : wave(label, now.step, i);
  edf_feed(x, data, rows);
}
static void feed(int step, int rows) {
  now.step = step;
  now.rows = rows;
  for (int i = 0; i < now.n; i++) if (now.node[i].x->kind == EDF_INPUT) feed_node(i);
}
static edf_node *input(const char *declaration, int feeds) {
  edf_node *x = edf_input("%s", declaration);
  see(x->name, x);
  now.node[now.n - 1].feeds = feeds;
  now.node[now.n - 1].batch = strstr(declaration, "[b") != NULL;
  if (feeds == REALS) edf_want_grad(x);
  return x;
}
/* Returns an Input of the shape of y. If y is multiplied by it, y has a random gradient. */
static edf_node *judge(edf_node *y, int batch) {
  char text[120] = "c_";
  int at = 2;
  if (known("c_")) return known("c_");
  for (int d = 0; d < y->rank; d++) {
    text[at++] = d ? ',' : '[';
    at += batch && !d ? sprintf(text + at, "b") : sprintf(text + at, "%d", y->dim[d]);
  }
  return input(y->rank ? strcat(text, "]") : text, REALS);
}

/* ---- Printing. A gradient that is not there is printed as zeros. */
static void numbers(char what, const char *label, const edf_node *x, const edf_real *v) {
  printf("%c %s [", what, label);
  for (int d = 0; d < x->rank; d++) printf("%d,", x->dim[d]);
  printf("]");
  for (size_t i = 0; i < x->size; i++)
    printf(EDF_REAL_IS_DOUBLE ? " %.13g" : " %.8g", v ? (double)v[i] : 0);
  printf("\n");
}
static void show(char what) {
  for (int i = 0; i < now.n; i++) {
    edf_node *x = now.node[i].x;
    int shown = what == 'V' ? x->kind == EDF_COMPNODE : what == 'P' ? x->kind == EDF_PARAMETER
              : x->kind != EDF_COMPNODE && !now.node[i].feeds;
    if (shown) numbers(what, now.node[i].label, x, what == 'G' ? x->grad : x->value);
  }
  if (what == 'V') numbers('V', "loss", now.loss, now.loss->value);
}
static void draws(int n) {
  for (int i = 0; i < n; i++) {
    printf("N uniform %.13g\n", (double)edf_uniform(-1, 2));
    printf("N normal %.13g\n", (double)edf_normal(1, 2));
    printf("N below %d\n", edf_below(10 + i));
  }
}

/* ---- Several graphs, and a new graph for each step */
static void swap(void) {
  oracle_world old = now;
  old.graph = edf;
  now = other;
  other = old;
  edf = now.graph;
}
static void clear_compnodes(void) {
  int n = 0;
  for (int i = 0; i < now.n; i++)
    if (now.node[i].x->kind != EDF_COMPNODE) now.node[n++] = now.node[i];
  now.n = n;
  edf_clear_compnodes();
}

/* ---- Nodes, and a rule, as a program writes them */
static void gate_forward(edf_node *y) {                 /* y[i] = a[i] b[i]^2 */
  const edf_real *a = y->in[0]->value, *b = y->in[1]->value;
  edf_real *square = (edf_real *)edf_state(y, y->size * sizeof *square);
  for (size_t i = 0; i < y->size; i++) square[i] = b[i] * b[i];
  for (size_t i = 0; i < y->size; i++) y->value[i] = a[i] * square[i];
}
static void gate_backward(edf_node *y) {
  const edf_real *a = y->in[0]->value, *b = y->in[1]->value, *square = (edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) {
    edf_addgrad(y->in[0], i, y->grad[i] * square[i]);
    edf_addgrad(y->in[1], i, y->grad[i] * a[i] * 2 * b[i]);
  }
}
static void rows_shape(edf_node *y) {                   /* y[b] = sum_j j x[b,j] */
  y->rank = y->in[0]->rank - 1;
  for (int d = 0; d < y->rank; d++) y->dim[d] = y->in[0]->dim[d];
}
static void rows_forward(edf_node *y) {
  size_t n = (size_t)y->in[0]->dim[y->rank];
  for (size_t i = 0; i < y->size; i++) {
    y->value[i] = 0;
    for (size_t j = 0; j < n; j++) y->value[i] += (edf_real)j * y->in[0]->value[i * n + j];
  }
}
static void rows_backward(edf_node *y) {
  size_t n = (size_t)y->in[0]->dim[y->rank];
  for (size_t i = 0; i < y->size * n; i++)
    edf_addgrad(y->in[0], i, (edf_real)(i % n) * y->grad[i / n]);
}
static void own_rule(edf_node *p, edf_real eta) {
  edf_real c[5] = { 2 * eta, (edf_real)0.8, (edf_real)0.9, (edf_real)1e-3, (edf_real)0.05 };
  UPDATE_ADAM(p, c);
}
/* ---- Each program runs in a process of its own. */
extern void (*const oracle_programs[])(void);
#ifdef ORACLE_IMPLEMENTATION
#include <sys/wait.h>
#include <unistd.h>
static void oracle_run(void (*program)(void)) {
  alarm(10);
  if (!setjmp(oracle_home)) program();
  else printf("E %.*s\n", (int)strcspn(oracle_said, "\n"), oracle_said);
  if (!setjmp(oracle_home)) edf_clear();
  else printf("X an error in edf_clear: %s\n", oracle_said);
  fflush(stdout);
  _exit(0);
}
int main(void) {
  int crashed = 0;
  for (int i = 0; oracle_programs[i] && crashed < 5; i++) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) oracle_run(oracle_programs[i]);
    if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
    if (status) printf("\nX ended with status %d (14: more than 10 seconds)\n", status);
    crashed += status != 0;
    printf("\1\n");
  }
  return 0;
}
#endif
#endif
