/* inside.h - what a few tests ask of the inside of edf.h; impl.c answers. What the public
   interface can tell is not here. Include it after edf.h. */

#ifndef INSIDE_H
#define INSIDE_H

extern const int inside_mask_begins;              /* where a Dropout's state has its mask     */
unsigned long long inside_draw(unsigned long long n);          /* the n-th random number      */
edf_real inside_fast_root(edf_real v);
void inside_fail(const char *message);                         /* a mistake in use            */
int inside_knows_cleared(const edf_node *x);

/* With OpenMP: work that costs less is not cut into slices, 0 cuts all; and which loop is. */
void inside_cut_work_above(double nanoseconds);
int inside_loop_to_cut(const edf_route *r, int threads);

/* What the graph's doctor has seen so far; zeros without one. Is there a trace? */
typedef struct { int named, looks; long steps; } inside_doctor_seen;
inside_doctor_seen inside_doctor_has(void);
int inside_traces(void);

/* The doctor's table of rows: notes x's, trained on or not; NULL begins a new table. */
typedef struct { size_t n, hits, tested; } inside_rows;
inside_rows inside_note_rows(edf_node *x, int trained);
extern const int inside_slots;

/* The gradient check of y along random directions of p alone; Backward(y) has run. */
double inside_check_directions(edf_node *y, edf_node *p);

#endif
