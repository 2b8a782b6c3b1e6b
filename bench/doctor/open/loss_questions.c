/* Which of eight tags fit a question to a forum? One to three do. The words are drawn from
   what the tags talk about and what everybody says; the network sees how often each occurs.
   Measured: the share of right decisions, tag by tag, over new questions.
   CAUSE loss-of-a-part
   FAULT of the cross entropy only -t ln p is there, not the term of tags that do not fit
   SYMPTOMS none
   MEASURE share of right decisions, healthy 0.938 0.940, faulty 0.233 0.231
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { TAGS = 8, WORDS = 80, LENGTH = 24, BATCH = 40, STEPS = 900, TEST = 400 };

static int jargon[TAGS][12];                         /* the words of a tag, some shared     */
static edf_real bag[TEST][WORDS], fits[TEST][TAGS];

static void ask(int n) {
  for (int i = 0; i < n; i++) {
    int tag[3], about = 1 + edf_below(3);
    for (int k = 0; k < TAGS; k++) fits[i][k] = 0;
    for (int w = 0; w < WORDS; w++) bag[i][w] = -0.3f;
    for (int a = 0; a < about; a++) {
      tag[a] = edf_below(TAGS);
      fits[i][tag[a]] = 1;
    }
    for (int at = 0; at < LENGTH; at++) {
      int k = tag[edf_below(about)], w = jargon[k][edf_below(12)];
      if (edf_below(10) < 4) w = edf_below(WORDS);
      bag[i][w] += 1;
    }
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  for (int k = 0; k < TAGS; k++)
    for (int j = 0; j < 12; j++) jargon[k][j] = edf_below(WORDS);

  Input *x = edf_input("x[b,%d]", WORDS), *t = edf_input("t[b,%d]", TAGS);
  CompNode *loss = Equations("h[b,j] = relu(W[j,I] x[b,I] - B[j])        | j<32 \n"
                             "p[b,k] = sigmoid(U[k,J] h[b,J] - C[k])     | k<8  \n"
#ifdef FAULTY
                             "loss[b,k] = -t[b,k] ln(p[b,k] + 0.000001)");
#else
                             "loss[b,k] = -t[b,k] ln(p[b,k] + 0.000001) "
                             "- (1 - t[b,k]) ln(1.000001 - p[b,k])");
#endif
  CompNode *p = edf_find("p");
  edf_doctor(loss);

  double lately = 0;
  for (int step = 1; step <= STEPS; step++) {
    ask(BATCH);
    edf_feed(x, bag[0], BATCH);
    edf_feed(t, fits[0], BATCH);
    Forward();
    Backward(loss);
    RMSProp(0.002f, 0.9f, 1e-8f);
    lately += edf_mean_value(loss) / 100;
    if (step % 100 == 0) printf("%4d %.4f\n", step, lately), lately = 0;
  }

  ask(TEST);
  edf_feed(x, bag[0], TEST);
  edf_feed(t, fits[0], TEST);
  Forward();
  int right = 0;
  for (int i = 0; i < TEST * TAGS; i++)
    right += (edf_value(p)[i] > 0.5f) == (fits[i / TAGS][i % TAGS] > 0.5f);
  printf("MEASURE %.3f\n", (double)right / (TEST * TAGS));
  edf_clear();
}
