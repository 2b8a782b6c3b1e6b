/* models.h - models with all layers and functions: the tensors that they read, declared as in
   plain.h, and what they build. The last node is the loss. */

#ifndef TESTS_MODELS_H
#define TESTS_MODELS_H

#include "plain.h"

static void mlp(void) {
  CompNode *h = Dropout(Sigmoid(Affine(edf_affine_params(5, 4), edf_find("x"))), 0.3);
  h = Relu(Affine(edf_affine_params(4, 4), h));
  Mean(LogLoss(Softmax(Affine(edf_affine_params(4, 3), h)), edf_find("y")));
}

static void convolution(void) {
  CompNode *h = edf_equations("h[b,x,y,j] = tanh(K[DX,DY,I,j] x[b,x+DX-1,y+DY-1,I] - C[j])"
                              " | DX<3, DY<3, j<4, x<6, y<6");
  h = Reshape(AvgPool(LeakyRelu(MaxPool(h, 2, 2), (edf_real)0.1), 2, 1), "flat[b,16]");
  edf_name(Mean(SoftmaxLogLoss(h, edf_find("y"))), "loss");
}

static void lstm(void) { Mean(Square(Unroll(edf_lstm_params(3, 2), edf_find("x")))); }

static void recurrent(void) {
  CompNode *h = Unroll(edf_lstm_params(3, 2), edf_find("x"));
  h = Unroll(edf_rnn_params(2, 2), Unroll(edf_gru_params(2, 2), h));
  h = Recurrence("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + x[b,t,j])", edf_find("W"), h);
  Mean(Square(h));
}

static void attention(void) {
  CompNode *h = Embed(edf_find("E"), edf_find("t"));
  h = Add(h, CausalAttention(edf_attention_params(6, 2), h));
  h = LayerNorm(edf_layer_norm_params(6), h);
  h = Attention(edf_attention_params(6, 3), BatchNorm(edf_batch_norm_params(6), h));
  CompNode *s = edf_einsum("s[b,t,w] = E[w,J] h[b,t,J]", edf_find("E"), h);
  MaskedMean(SoftmaxLogLoss(s, edf_find("y")), edf_find("m"));
}

static void element_wise(void) {
  edf_node *x = edf_find("x"), *p = edf_find("p");
  CompNode *y = Gelu(LeakyRelu(Sub(Tanh(x), p), (edf_real)0.1));
  y = Softplus(Mul(y, Exp(y)));
  y = Div(Div(y, Exp(p)), Sqrt(Sum(Square(p))));
  y = Max(Min(y, Exp(p)), Clamp(x, (edf_real)-0.1, (edf_real)1.25));
  y = Add(y, Pow(Abs(x), 3));
  CompNode *l = Log(Exp(Sin(Cos(y))));
  Mean(Add(BCELoss(l, Sigmoid(y)), MSE(l, Relu(x))));
}

static void slide_with_classes(void) {
  edf_equations("h[b,j] = sigmoid(U[j,I] x[b,I] - B[j])  | j<4 \n"
                "a[b,j] = h[b,j] h[b,j] h[b,J] \n"
                "P[b,k] = softmax_k V[k,J] a[b,J]        | k<3 \n"
                "loss[b] = -ln P[b,y[b]]");
}

enum { MLP, CONVOLUTION, LSTM, RECURRENT, ATTENTION, ELEMENT_WISE, SLIDE_WITH_CLASSES,
       MODELS };
static const struct { const char *tensors; void (*build)(void); } models[MODELS] = {
  { "x[b,5] y[b]=3", mlp }, { "x[b,6,6,2] y[b]=16", convolution },
  { "x[b,2,3]", lstm }, { "x[b,3,3] W[2,2]", recurrent },
  { "E[5,6] t[b,4]=5 y[b,4]=5 m[b,4]=2", attention }, { "x[b,3] p[3]", element_wise },
  { "x[b,5] y[b]=3", slide_with_classes }
};

#endif
