/* cotangent.h - a loss that gives its input a chosen cotangent: z = sum of r[i] y[i], for any
   shape of y. The file that includes it defines r before: edf_real cotangent_of(size_t i). */

#ifndef COTANGENT_H
#define COTANGENT_H

static void scalar_shape(edf_node *y) { y->rank = 0; }

static void cotangent_forward(edf_node *z) {
  edf_real sum = 0;
  for (size_t i = 0; i < z->in[0]->size; i++) sum += cotangent_of(i) * z->in[0]->value[i];
  z->value[0] = sum;
}

static void cotangent_backward(edf_node *z) {
  for (size_t i = 0; i < z->in[0]->size; i++)
    edf_addgrad(z->in[0], i, z->grad[0] * cotangent_of(i));
}

#endif
