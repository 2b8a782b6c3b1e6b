/* 18_finetune.c - a network that reads digits learns to read digits that lie on their side

     make run EXAMPLE=18                            EDF_DATA=dir: reads the IDX files in dir
     build/18_finetune --error 15 --seed 1

   The body of the network is two convolutions, and its head is one affine layer. Upright digits
   train both. Then edf_load_some loads the body under a new head, the body is frozen, and turned
   digits train the head. Another network is trained from nothing to the same error, with steps
   of the same size. Its sigmoids take long to leave their flat start. With relu and Adam a new
   network learns these digits in 100 steps, and a frozen body is no help. The program prints:

     upright: error 2.0 % after 1800 steps
     edf_load_some: build/upright.safetensors: 4 of 6 parameters
       turned [10, 256] keeps its numbers: the file has no turned
       turned_bias [10] keeps its numbers: the file has no turned_bias
       only the file has "upright"
       only the file has "upright_bias"
     turned, body frozen: error 14.3 % after 60 steps
     turned, from nothing: error 14.6 % after 400 steps
     see build/finetune.svg
     steps 0.15 of those from nothing
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"
#include "edf/lab.h"
#include "digits.h"
#include "options.h"

enum { BATCH = 64, TESTED = 1000, MOST = 5000, LOOK = 5 };
typedef struct { Input *x, *y; CompNode *scores, *ell; } network;
typedef struct { const char *name; int steps; double error[MOST / LOOK]; } run;

/* Builds the network. The Parameters of the head have this name. */
static network build(const char *head) {
  network net;
  ConvParams first = edf_conv_params(5, 1, 8), second = edf_conv_params(5, 8, 16);
  net.x = edf_input("x[b,%d]", DIGITS_PIXELS);
  net.y = edf_input("y[b]");
  CompNode *h = Sigmoid(MaxPool(Conv(first, Reshape(net.x, "L0[b,28,28,1]")), 2, 2));
  h = Reshape(Sigmoid(MaxPool(Conv(second, h), 2, 2)), "body[b,256]");
  edf_name(h, "body");
  net.scores = edf_equations("s[b,k] = %s[k,I] body[b,I] - %s_bias[k] | k<10", head, head);
  net.ell = SoftmaxLogLoss(net.scores, net.y);
  return net;
}

/* Trains until at most `goal` percent of the test rows are wrong. With a file, the body comes
   from there, and is frozen. */
static void train(run *to, const char *head, digits_set set, digits_set test, double goal,
                  const char *file) {
  network net = build(head);
  double error = 100;
  if (file) edf_load_some(file);
  for (int i = 0; i < edf.n_parameters && file; i++)
    if (strncmp(edf.parameters[i]->name, head, strlen(head)))
      edf.parameters[i]->update = edf_frozen;
  while (error > goal && to->steps < MOST) {
    int row = edf_below(set.x.dim[0] - BATCH);
    edf_feed(net.x, set.x.value + (size_t)row * DIGITS_PIXELS, BATCH);
    edf_feed(net.y, set.y.value + row, BATCH);
    Forward();
    Backward(net.ell);
    SGD((edf_real)0.5);
    if (++to->steps % LOOK) continue;
    edf_feed(net.x, test.x.value, TESTED);
    edf_feed(net.y, test.y.value, TESTED);
    edf_forward_to(net.scores);
    error = 100 * edf_error_rate(net.scores, net.y);
    to->error[to->steps / LOOK - 1] = error;
  }
  printf("%s: error %.1f %% after %d steps\n", to->name, error, to->steps);
  fflush(stdout);
}

/* Turns all images by a quarter of a circle. */
static void turn(edf_array images) {
  for (int n = 0; n < images.dim[0]; n++) {
    edf_real old[28][28], *image = images.value + (size_t)n * DIGITS_PIXELS;
    memcpy(old, image, sizeof old);
    for (int i = 0; i < 28; i++)
      for (int j = 0; j < 28; j++) image[i * 28 + j] = old[j][27 - i];
  }
}

int main(int argc, char **argv) {
  static run upright = { "upright", 0, { 0 } }, tuned = { "turned, body frozen", 0, { 0 } };
  static run anew = { "turned, from nothing", 0, { 0 } };
  digits_set set, test;
  options_begin("18_finetune", argc, argv);
  double goal = option_real("--error", 15, 1, 90);
  int seed = (int)option("--seed", 1, 0, 1e9);
  const char *model = option_output("build/upright.safetensors");
  const char *picture = option_output("build/finetune.svg");
  options_end();
  digits_find(&set, &test);
  edf_seed((unsigned)seed);
  train(&upright, "upright", set, test, 2, NULL);
  edf_save(model);
  edf_clear();
  turn(set.x);
  turn(test.x);
  train(&tuned, "turned", set, test, goal, model);
  edf_clear();
  train(&anew, "turned", set, test, goal, NULL);
  for (int k = 0; k < anew.steps / LOOK; k++) {
    edf_plot("error in %, every fifth step/from nothing", anew.error[k]);
    if (k < tuned.steps / LOOK)
      edf_plot("error in %, every fifth step/body frozen", tuned.error[k]);
  }
  edf_plot_svg(picture);
  printf("see %s\nsteps %.2f of those from nothing\n", picture,
         (double)tuned.steps / anew.steps);
  digits_free(&set);
  digits_free(&test);
  edf_clear();
  return 0;
}
