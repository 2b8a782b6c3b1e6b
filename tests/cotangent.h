/* cotangent.h - JUDGED(y, ...) is a loss that gives its inputs chosen cotangents: the sum of
   cotangent_of(i) y[i], for any shape of y. The file that includes it defines
   edf_real cotangent_of(size_t i) before. Input k has the cotangents from number
   k COTANGENTS_APART on. */

#ifndef COTANGENT_H
#define COTANGENT_H

#ifndef COTANGENTS_APART
#define COTANGENTS_APART 0
#endif

static void scalar_shape(edf_node *z) { z->rank = 0; }

static void cotangent_forward(edf_node *z) {
  edf_real sum = 0;
  for (int k = 0; k < z->n_in; k++)
    for (size_t i = 0; i < z->in[k]->size; i++)
      sum += cotangent_of((size_t)k * COTANGENTS_APART + i) * z->in[k]->value[i];
  z->value[0] = sum;
}

static void cotangent_backward(edf_node *z) {
  for (int k = 0; k < z->n_in; k++)
    for (size_t i = 0; i < z->in[k]->size; i++)
      edf_addgrad(z->in[k], i, z->grad[0] * cotangent_of((size_t)k * COTANGENTS_APART + i));
}

#define JUDGED(...) \
  edf_compnode_shaped("Cotangent", scalar_shape, cotangent_forward, cotangent_backward, \
                      __VA_ARGS__)

#endif
