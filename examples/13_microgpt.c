/* 13_microgpt.c - a whole GPT on a page, which reads names and then makes up new names

     make run EXAMPLE=13_microgpt                  EDF_TEXT=file: other names, one on each line

   The model follows Karpathy's microgpt. The first line embeds letters and positions. A layer
   has attention with 4 heads, and then an MLP with squared relus. Each of the two divides its
   input by the root mean square. The last lines are the probability of the next letter and the
   loss. Layer l+1 reads layer l, so the equations with the index l run layer by layer. Every
   layer has its own Parameters, so their first index is l. The program prints:

     3761 letters, 27 different ones, 7264 parameters
     step  200  loss 2.392
     step  400  loss 2.087
     step  600  loss 1.910
     step  800  loss 1.765
     step 1000  loss 1.666
     claude carolin ivisth chia shophia marcel elerna johann etgiany ...
     loss 1.666 per letter after 1000 steps
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/data.h"
#include "names.h"

enum { B = 32, T = 16, LAYERS = 2, STEPS = 1000 };

int main(void) {
  static edf_real in[B * T], out[B * T];
  const char *file = getenv("EDF_TEXT");
  edf_vocabulary text = file ? edf_load_text(file) : edf_text_of(names, sizeof names - 1);
  edf_real end = (edf_real)text.number['\n'];
  int n = (int)text.classes.size, V = text.symbols, size = 0;
  double mean = 0;
  char byte[2];

  Input *x = edf_input("x[b,%d]", T), *y = edf_input("y[b,%d]", T);
  CompNode *loss = Equations(
    "h[0,b,t,i]   = E[x[b,t],i] + F[t,i]                             | x<%d, i<16  \n"
    "n[l,b,t,i]   = h[l,b,t,i] / sqrt(mean_j h[l,b,t,j]^2 + 1e-5)    | l<%d        \n"
    "q[l,b,t,k,d] = WQ[l,k,d,I] n[l,b,t,I]                           | k<4, d<4    \n"
    "k[l,b,t,k,d] = WK[l,k,d,I] n[l,b,t,I]                           | k<4, d<4    \n"
    "v[l,b,t,k,d] = WV[l,k,d,I] n[l,b,t,I]                           | k<4, d<4    \n"
    "a[l,b,k,t,s] = softmax_s (1/sqrt D) q[l,b,t,k,D] k[l,b,s,k,D]   | s<=t        \n"
    "o[l,b,t,k,d] = a[l,b,k,t,S] v[l,b,S,k,d]                                      \n"
    "m[l,b,t,i]   = h[l,b,t,i] + WO[l,i,K,D] o[l,b,t,K,D]                          \n"
    "r[l,b,t,i]   = m[l,b,t,i] / sqrt(mean_j m[l,b,t,j]^2 + 1e-5)                  \n"
    "u[l,b,t,j]   = relu(W1[l,j,I] r[l,b,t,I])^2                     | j<64        \n"
    "h[l+1,b,t,i] = m[l,b,t,i] + W2[l,i,J] u[l,b,t,J]                              \n"
    "P[b,t,w]     = softmax_w W[w,I] h[%d,b,t,I]                     | w<%d        \n"
    "loss[b,t]    = -ln P[b,t,y[b,t]]", V, LAYERS, LAYERS, V);
  CompNode *P = edf_find("P");

  for (int i = 0; i < edf.n_parameters; i++) size += (int)edf.parameters[i]->size;
  printf("%d letters, %d different ones, %d parameters\n", n, V, size);
  for (int step = 1; step <= STEPS; step++) {
    names_rows(&text, in, out, B, T);
    edf_feed(x, in, B);
    edf_feed(y, out, B);
    Forward();
    mean += edf_mean_value(loss) / 200;
    Backward(loss);
    Adam((edf_real)(0.01 - 0.01 * step / STEPS), (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
    if (step % 200) continue;
    printf("step %4d  loss %.3f\n", step, mean);
    if (step < STEPS) mean = 0;
  }
  for (int k = 0; k < 20; k++) {                             /* makes up 20 names */
    int t = 0;
    in[0] = end;
    do {
      edf_feed(x, in, 1);
      edf_forward_to(P);
      in[t + 1] = (edf_real)edf_sample(edf_value(P) + t * V, V);
      t++;
      edf_decode(&text, in + t, 1, byte);
      putchar(byte[0] == '\n' ? ' ' : byte[0]);
    } while (in[t] != end && t + 1 < T);
  }
  printf("\nloss %.3f per letter after %d steps; a guess among %d letters has %.3f\n", mean, STEPS, V,
         log((double)V));
  edf_free_text(&text);
  edf_clear();
  return 0;
}
