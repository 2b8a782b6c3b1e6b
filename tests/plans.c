/* What the planner answers, number by number: the loops in their order, how operands are seen
   as matrices, what is covered, and the cost, with round costs of our own. Each line was worked
   out by hand from the costs below: a product of M x N x K costs
     call + multiply M N K + operand (M K + K N) + result M N + packed entries,
   all of it once for each round of the loops outside; a packed entry costs pack (of out: add)
   + run / (length of its run), or pack_alone. Plain loops cost loop[..] for each round and
   start for each row.

   Built as: double none sanitized */

#include "harness.h"
#include <limits.h>
#include "edf.h"

static const edf_costs costs = { 1000, 1, 3, 5, 7, 11, 13, 19, 16, { 2, 9, 31 }, 40, 0 };

typedef struct { const char *what; int n; edf_loop loop[6]; const char *plan; } planned;

/* Loops as n:out,a,b; then M x N x K; then of out, a and b: rows x columns with their steps,
   = in place or ~ packed (' where column-major), and the runs of a packed one. */
static const char *text_of(const edf_route *r) {
  static char s[1000];
  int n = snprintf(s, sizeof s, "%s", r->product ? "product" : "loops");
#define PUT(...) n += snprintf(s + n, sizeof s - (size_t)n, __VA_ARGS__)
  for (int i = 0; i < r->nest.n; i++)
    PUT("%s%td:%td,%td,%td", i == r->first[0] ? " | " : " ", r->nest.loop[i].n,
        r->nest.loop[i].s[0], r->nest.loop[i].s[1], r->nest.loop[i].s[2]);
  if (r->product) PUT(";");
  for (int g = 0; r->product && g < 3; g++) PUT(" %td", r->extent[g]);
  for (int x = 0; r->product && x < 3; x++) {
    const edf_matrix *m = &r->matrix[x];
    PUT("; %td/%tdx%td/%td%s%s", m->row.n, m->row.step, m->column.n, m->column.step,
        m->direct ? "=" : "~", m->tall ? "'" : "");
    if (!m->direct) PUT("%td,%td", m->row.run, m->column.run);
  }
  if (r->nest.alpha != 2) PUT("; alpha %g", (double)r->nest.alpha);
  PUT("; covers %zu, %zu; cost %.10g", r->covers, r->apart, r->cost);
  return s;
#undef PUT
}

static edf_nest nest_of(const planned *p) {
  edf_nest q;
  memset(&q, 0, sizeof q);
  q.n = p->n;
  q.alpha = 2;
  for (int x = 0; x < 3; x++) q.start[x] = x + 1;
  memcpy(q.loop, p->loop, sizeof p->loop);
  return q;
}

#define BIG ((ptrdiff_t)INT_MAX)

static const planned plans[] = {
  { "row-major", 3, { { 4, { 8, 16, 0 } }, { 8, { 1, 0, 8 } }, { 16, { 0, 1, 1 } } },
    "loops 4:8,16,0 8:1,0,8 | 16:0,1,1; covers 0, 32; cost 2304" },
  { "a product", 3, { { 4, { 8, 16, 0 } }, { 8, { 1, 0, 1 } }, { 16, { 0, 1, 8 } } },
    "product | 4:8,16,0 8:1,0,1 16:0,1,8; 4 8 16; 4/8x8/1=; 4/16x16/1=; 16/8x8/1=; covers "
    "32, 32; cost 2248" },
  { "its loops the other way round", 3,
    { { 16, { 0, 1, 8 } }, { 8, { 1, 0, 1 } }, { 4, { 8, 16, 0 } } },
    "product | 4:8,16,0 8:1,0,1 16:0,1,8; 4 8 16; 4/8x8/1=; 4/16x16/1=; 16/8x8/1=; covers "
    "32, 32; cost 2248" },
  { "all column-major", 3, { { 4, { 1, 1, 0 } }, { 8, { 4, 0, 16 } }, { 16, { 0, 4, 1 } } },
    "product | 4:1,1,0 8:4,0,16 16:0,4,1; 4 8 16; 4/1x8/4='; 4/1x16/4='; 16/1x8/16='; "
    "covers 32, 32; cost 2248" },
  { "a wider row", 3, { { 4, { 9, 17, 0 } }, { 8, { 1, 0, 1 } }, { 16, { 0, 1, 9 } } },
    "product | 4:9,17,0 8:1,0,1 16:0,1,9; 4 8 16; 4/9x8/1=; 4/17x16/1=; 16/9x8/1=; covers "
    "32, 32; cost 2248" },
  { "rows that overlap by one", 3,
    { { 4, { 8, 15, 0 } }, { 8, { 1, 0, 1 } }, { 16, { 0, 1, 8 } } },
    "product | 4:8,15,0 8:1,0,1 16:0,1,8; 4 8 16; 4/8x8/1=; 4/15x16/1~1,16; 16/8x8/1=; "
    "covers 32, 32; cost 2760" },
  { "columns that overlap by one", 3,
    { { 32, { 64, 1, 0 } }, { 64, { 1, 0, 1 } }, { 16, { 0, 31, 64 } } },
    "product | 32:64,1,0 64:1,0,1 16:0,31,64; 32 64 16; 32/64x64/1=; 32/1x16/31~'32,1; "
    "16/64x64/1=; covers 2048, 2048; cost 52456" },
  { "a run of 8", 3, { { 64, { 64, 8, 0 } }, { 64, { 1, 0, 1 } }, { 8, { 0, 1, 64 } } },
    "product | 64:64,8,0 64:1,0,1 8:0,1,64; 64 64 8; 64/64x64/1=; 64/8x8/1=; 8/64x64/1=; "
    "covers 4096, 4096; cost 57320" },
  { "packed, a run of 8", 4,
    { { 64, { 64, 2, 0 } }, { 64, { 1, 0, 1 } }, { 8, { 0, 1, 512 } },
      { 8, { 0, 200, 64 } } },
    "product | 64:64,2,0 64:1,0,1 8:0,200,64 8:0,1,512; 64 64 64; 64/64x64/1=; "
    "64/2x64/0~1,8; 64/0x64/1~1,64; covers 4096, 4096; cost 374760" },
  { "packed, a run of 7", 4,
    { { 64, { 64, 2, 0 } }, { 64, { 1, 0, 1 } }, { 7, { 0, 1, 512 } },
      { 8, { 0, 200, 64 } } },
    "product | 64:64,2,0 64:1,0,1 8:0,200,64 7:0,1,512; 64 64 56; 64/64x64/1=; "
    "64/2x56/0~1,7; 56/0x64/1~1,64; covers 4096, 4096; cost 337768" },
  { "packed b", 4,
    { { 64, { 64, 64, 0 } }, { 8, { 8, 0, 1 } }, { 8, { 1, 0, 100 } },
      { 64, { 0, 1, 1 } } },
    "product | 64:64,64,0 8:8,0,1 8:1,0,100 64:0,1,1; 64 64 64; 64/64x64/1=; 64/64x64/1=; "
    "64/1x64/0~'64,1; covers 4096, 4096; cost 337896" },
  { "packed out, a run of 4", 4,
    { { 64, { 8, 64, 0 } }, { 4, { 1, 0, 1 } }, { 16, { 700, 0, 4 } },
      { 64, { 0, 1, 64 } } },
    "product | 64:8,64,0 16:700,0,4 4:1,0,1 64:0,1,64; 64 64 64; 64/8x64/0~1,4; "
    "64/64x64/1=; 64/64x64/1=; covers 4096, 4096; cost 377832" },
  { "packed out, a run of 3", 4,
    { { 64, { 8, 64, 0 } }, { 3, { 1, 0, 1 } }, { 16, { 700, 0, 3 } },
      { 64, { 0, 1, 48 } } },
    "product | 64:8,64,0 16:700,0,3 3:1,0,1 64:0,1,48; 64 48 64; 64/8x48/0~1,3; "
    "64/64x64/1=; 64/48x48/1=; covers 3072, 3072; cost 292840" },
  { "packed out that is tall", 4,
    { { 8, { 1, 64, 0 } }, { 8, { 900, 512, 0 } }, { 64, { 11, 0, 1 } },
      { 64, { 0, 1, 64 } } },
    "product | 8:900,512,0 8:1,64,0 64:11,0,1 64:0,1,64; 64 64 64; 64/0x64/11~'8,1; "
    "64/64x64/1=; 64/64x64/1=; covers 4096, 4096; cost 369640" },
  { "steps of INT_MAX", 3,
    { { 64, { 64, BIG, 0 } }, { 64, { 1, 0, 1 } }, { 64, { 0, 1, 64 } } },
    "product | 64:64,2147483647,0 64:1,0,1 64:0,1,64; 64 64 64; 64/64x64/1=; "
    "64/2147483647x64/1=; 64/64x64/1=; covers 4096, 4096; cost 308200" },
  { "steps beyond INT_MAX", 3,
    { { 64, { 64, BIG + 1, 0 } }, { 64, { 1, 0, 1 } }, { 64, { 0, 1, 64 } } },
    "product | 64:64,2147483648,0 64:1,0,1 64:0,1,64; 64 64 64; 64/64x64/1=; "
    "64/2147483648x64/1~1,64; 64/64x64/1=; covers 4096, 4096; cost 337896" },
  { "columns beyond INT_MAX", 3,
    { { 64, { 64, 1, 0 } }, { 64, { 1, 0, 1 } }, { 64, { 0, BIG + 1, 64 } } },
    "product | 64:64,1,0 64:1,0,1 64:0,2147483648,64; 64 64 64; 64/64x64/1=; "
    "64/1x64/2147483648~'64,1; 64/64x64/1=; covers 4096, 4096; cost 337896" },
  { "more rows than INT_MAX", 3,
    { { BIG + 2, { 8, 8, 0 } }, { 8, { 1, 0, 1 } }, { 8, { 0, 1, 8 } } },
    "product | 2147483649:8,8,0 8:1,0,1 8:0,1,8; 2147483649 8 8; "
    "2147483649/8x8/1=; 2147483649/8x8/1=; 8/8x8/1=; covers 17179869192, 17179869192; cost "
    "2.748779083e+11" },
  { "packed a", 3,
    { { 64, { 64, 2, 0 } }, { 64, { 1, 0, 1 } }, { 64, { 0, 128, 64 } } },
    "product | 64:64,2,0 64:1,0,1 64:0,128,64; 64 64 64; 64/64x64/1=; 64/2x64/128~1,1; "
    "64/64x64/1=; covers 4096, 4096; cost 353256" },
  { "packed b, no step 1", 3,
    { { 64, { 300, 300, 0 } }, { 300, { 1, 0, 2 } }, { 300, { 0, 1, 600 } } },
    "product | 64:300,300,0 300:1,0,2 300:0,1,600; 64 300 300; 64/300x300/1=; "
    "64/300x300/1=; 300/600x300/2~1,1; covers 19200, 19200; cost 7174600" },
  { "batch outside", 4,
    { { 12, { 512, 512, 512 } }, { 16, { 32, 16, 0 } }, { 32, { 1, 0, 16 } },
      { 16, { 0, 1, 1 } } },
    "product 12:512,512,512 | 16:32,16,0 32:1,0,16 16:0,1,1; 16 32 16; 16/32x32/1=; "
    "16/16x16/1=; 16/1x32/16='; covers 6144, 6144; cost 168672" },
  { "sum outside", 4,
    { { 64, { 64, 1, 0 } }, { 64, { 1, 0, 1 } }, { 2, { 0, 90000, 9001 } },
      { 64, { 0, 65, 64 } } },
    "product 2:0,90000,9001 | 64:64,1,0 64:1,0,1 64:0,65,64; 64 64 64; 64/64x64/1=; "
    "64/1x64/65='; 64/64x64/1=; covers 0, 4096; cost 616400" },
  { "im2col", 5,
    { { 64, { 96, 5, 0 } }, { 3, { 32, 1, 0 } }, { 32, { 1, 0, 1 } },
      { 3, { 0, 1, 32 } }, { 8, { 0, 400, 96 } } },
    "product | 64:96,5,0 3:32,1,0 32:1,0,1 8:0,400,96 3:0,1,32; 192 32 24; "
    "192/32x32/1=; 192/0x24/0~3,3; 24/32x32/1=; covers 6144, 6144; cost 245992" },
  { "col2im", 5,
    { { 64, { 5, 96, 0 } }, { 3, { 1, 32, 0 } }, { 32, { 0, 1, 1 } },
      { 3, { 1, 0, 32 } }, { 8, { 400, 0, 96 } } },
    "product | 64:5,96,0 3:1,32,0 8:400,0,96 3:1,0,32 32:0,1,1; 192 24 32; "
    "192/0x24/0~3,3; 192/32x32/1=; 32/1x24/32='; covers 0, 0; cost 279784" },
  { "M and K alone", 2, { { 64, { 1, 64, 0 } }, { 64, { 0, 1, 1 } } },
    "loops 64:1,64,0 | 64:0,1,1; covers 0, 64; cost 10752" },
  { "N and K alone", 2, { { 64, { 1, 0, 1 } }, { 64, { 0, 1, 64 } } },
    "loops 64:0,1,64 | 64:1,0,1; covers 0, 64; cost 10752" },
  { "K alone", 1, { { 640, { 0, 1, 1 } } },
    "loops | 640:0,1,1; covers 0, 1; cost 1320" },
  { "M and N alone", 2, { { 64, { 64, 1, 0 } }, { 64, { 1, 0, 1 } } },
    "loops 64:64,1,0 | 64:1,0,1; covers 4096, 4096; cost 10752" },
  { "steps of 8", 2, { { 10, { 100, 1, 0 } }, { 5, { 8, 10, 0 } } },
    "loops 5:8,10,0 | 10:100,1,0; covers 50, 50; cost 1750" },
  { "steps of 8 innermost", 2, { { 10, { 100, 1, 0 } }, { 50, { 8, 8, 2 } } },
    "loops 10:100,1,0 | 50:8,8,2; covers 0, 0; cost 4900" },
  { "steps of 9 innermost", 2, { { 10, { 100, 1, 0 } }, { 50, { 9, 8, 2 } } },
    "loops 10:100,1,0 | 50:9,8,2; covers 0, 0; cost 15900" },
  { "steps of -9", 2, { { 10, { 100, 1, 0 } }, { 50, { 1, -9, 2 } } },
    "loops 10:100,1,0 | 50:1,-9,2; covers 500, 500; cost 15900" },
  { "a step of -1", 2, { { 10, { 100, 1, 0 } }, { 50, { 1, -1, 1 } } },
    "loops 10:100,1,0 | 50:1,-1,1; covers 500, 500; cost 1400" },
  { "the same in the end", 3,
    { { 6, { 1, 9, 0 } }, { 7, { 6, 0, 1 } }, { 8, { 42, 1, 7 } } },
    "loops 8:42,1,7 6:1,9,0 | 7:6,0,1; covers 336, 336; cost 4944" },
  { "fused in three", 3,
    { { 4, { 30, 30, 30 } }, { 5, { 6, 6, 6 } }, { 6, { 1, 1, 1 } } },
    "loops | 120:1,1,1; covers 120, 120; cost 280" },
  { "not fused, for b", 2, { { 5, { 6, 6, 7 } }, { 6, { 1, 1, 1 } } },
    "loops 5:6,6,7 | 6:1,1,1; covers 30, 30; cost 260" },
  { "not fused, for a", 2, { { 5, { 6, 7, 6 } }, { 6, { 1, 1, 1 } } },
    "loops 5:6,7,6 | 6:1,1,1; covers 30, 30; cost 260" },
  { "not fused, for out", 2, { { 5, { 7, 6, 6 } }, { 6, { 1, 1, 1 } } },
    "loops 5:7,6,6 | 6:1,1,1; covers 30, 30; cost 260" },
  { "fused, backwards", 2, { { 6, { -1, 1, 2 } }, { 5, { -6, 6, 12 } } },
    "loops | 30:-1,1,2; covers 30, 30; cost 310" },
  { "equal but in sign", 3,
    { { 5, { 20, -2, 3 } }, { 5, { 20, 2, 3 } }, { 4, { 20, 2, -3 } } },
    "loops 4:20,2,-3 5:20,-2,3 | 5:20,2,3; covers 0, 0; cost 3900" },
  { "equal but in extent", 2, { { 5, { 2, 2, 3 } }, { 7, { 2, 2, 3 } } },
    "loops 5:2,2,3 | 7:2,2,3; covers 0, 0; cost 515" },
  { "in nothing, and once", 3, { { 3, { 0, 0, 0 } }, { 1, { 5, 6, 7 } }, { 4, { 1, 0, 2 } } },
    "loops | 4:1,0,2; alpha 6; covers 4, 4; cost 76" },
  { "scalar", 0, { { 0, { 0, 0, 0 } } },
    "loops; covers 1, 1; cost 1" },
  { "nothing", 2, { { 3, { 1, 1, 1 } }, { 0, { 3, 1, 1 } } },
    "loops | 0:3,1,1; covers 0, 0; cost inf" },
  { "less than nothing", 2, { { -2, { 1, 1, 1 } }, { 4, { 3, 1, 1 } } },
    "loops | 0:1,1,1; covers 0, 0; cost inf" },
  { "touching", 2, { { 4, { 6, 1, 1 } }, { 6, { 1, 2, 3 } } },
    "loops 4:6,1,1 | 6:1,2,3; covers 24, 24; cost 376" },
  { "overlapping", 2, { { 4, { 5, 1, 1 } }, { 6, { 1, 2, 3 } } },
    "loops 4:5,1,1 | 6:1,2,3; covers 0, 0; cost 376" },
  { "summed between", 3,
    { { 4, { 6, 1, 1 } }, { 5, { 0, 7, 3 } }, { 6, { 1, 2, 3 } } },
    "loops 4:6,1,1 5:0,7,3 | 6:1,2,3; covers 0, 24; cost 1880" },
  { "every other entry", 2, { { 4, { 12, 1, 1 } }, { 6, { -2, 2, 3 } } },
    "loops 4:12,1,1 | 6:-2,2,3; covers 24, 24; cost 376" },
  { "equal but in out's sign", 3,
    { { 5, { -20, 2, 3 } }, { 5, { 20, 2, 3 } }, { 40, { 1, 1, 1 } } },
    "loops 5:20,2,3 5:-20,2,3 | 40:1,1,1; covers 0, 0; cost 3000" },
  { "equal but in extent, outside", 3,
    { { 5, { 40, 40, 80 } }, { 7, { 40, 40, 80 } }, { 40, { 1, 1, 1 } } },
    "loops 7:40,40,80 5:40,40,80 | 40:1,1,1; covers 0, 0; cost 4200" },
  { "longest first, backwards too", 3,
    { { 6, { 4, 9, 9 } }, { 4, { -24, 5, 5 } }, { 4, { 1, 1, 1 } } },
    "loops 4:-24,5,5 6:4,9,9 | 4:1,1,1; covers 96, 96; cost 1152" },
  { "a run of two loops", 4,
    { { 64, { 64, 5, 0 } }, { 64, { 1, 0, 1 } }, { 3, { 0, 8, 9000 } },
      { 8, { 0, 1, 64 } } },
    "product | 64:64,5,0 64:1,0,1 3:0,8,9000 8:0,1,64; 64 64 24; 64/64x64/1=; "
    "64/5x24/1~1,24; 24/0x64/1~1,64; covers 4096, 4096; cost 151912" },
  { "packed b, a run of 8", 4,
    { { 64, { 64, 64, 0 } }, { 8, { 8, 0, 100 } }, { 8, { 1, 0, 1 } },
      { 64, { 0, 1, 800 } } },
    "product | 64:64,64,0 8:8,0,100 8:1,0,1 64:0,1,800; 64 64 64; 64/64x64/1=; "
    "64/64x64/1=; 64/800x64/0~1,8; covers 4096, 4096; cost 345064" },
  { "packed b, a run of 9", 4,
    { { 64, { 72, 64, 0 } }, { 8, { 9, 0, 100 } }, { 9, { 1, 0, 1 } },
      { 64, { 0, 1, 800 } } },
    "product | 64:72,64,0 8:9,0,100 9:1,0,1 64:0,1,800; 64 72 64; 64/72x72/1=; "
    "64/64x64/1=; 64/800x72/0~1,9; covers 4608, 4608; cost 385512" },
  { "packed a and b", 3,
    { { 64, { 300, 2, 0 } }, { 300, { 1, 0, 2 } }, { 64, { 0, 128, 600 } } },
    "product | 64:300,2,0 300:1,0,2 64:0,128,600; 64 300 64; 64/300x300/1=; "
    "64/2x64/128~1,1; 64/600x300/2~1,1; covers 19200, 19200; cost 1651944" },
  { "packed out and a", 3,
    { { 64, { 128, 2, 0 } }, { 64, { 2, 0, 1 } }, { 300, { 0, 128, 64 } } },
    "product | 64:128,2,0 64:2,0,1 300:0,128,64; 64 64 300; 64/128x64/2~1,1; "
    "64/2x300/128~1,1; 300/64x64/1=; covers 4096, 4096; cost 1654504" },
  { "M and N alone, far apart", 2, { { 64, { 640, 1, 0 } }, { 64, { 10, 0, 1 } } },
    "loops 64:10,0,1 | 64:640,1,0; covers 4096, 4096; cost 129536" },
  { "K alone, far apart", 1, { { 640, { 0, 9, 9 } } },
    "loops | 640:0,9,9; covers 0, 1; cost 19880" },
  { "M and K alone, far apart", 2, { { 64, { 1, 64, 0 } }, { 64, { 0, 1, 9 } } },
    "product | 64:1,64,0 64:0,1,9; 64 1 64; 64/1x1/1=; 64/64x64/1=; 64/9x1/1=; covers 64, "
    "64; cost 17896" },
  { "N and K alone, far apart", 2, { { 64, { 1, 0, 64 } }, { 64, { 0, 9, 1 } } },
    "product | 64:1,0,64 64:0,9,1; 1 64 64; 1/1x64/1='; 1/1x64/9='; 64/1x64/64='; covers "
    "64, 64; cost 17896" },
  { "too small for a product", 5,
    { { 2, { 16, 2, 0 } }, { 2, { 3, 0, 5 } }, { 2, { 1, 0, 1 } }, { 2, { 0, 1, 20 } },
      { 2, { 0, 5, 7 } } },
    "loops 2:16,2,0 2:3,0,5 2:0,5,7 2:0,1,20 | 2:1,0,1; covers 0, 8; cost 704" },
  { "the outermost rows outside", 4,
    { { 2, { 9001, 70000, 0 } }, { 64, { 64, 64, 0 } }, { 64, { 1, 0, 1 } },
      { 64, { 0, 1, 64 } } },
    "product 2:9001,70000,0 | 64:64,64,0 64:1,0,1 64:0,1,64; 64 64 64; 64/64x64/1=; "
    "64/64x64/1=; 64/64x64/1=; covers 8192, 8192; cost 616400" },
};

static void round_costs(void) {
  for (size_t k = 0; k < sizeof plans / sizeof *plans; k++) {
    edf_nest q = nest_of(&plans[k]);
    edf_route r = edf_plan_for(&q, &costs);
    for (int x = 0; x < 3; x++)
      CHECK(r.nest.start[x] == x + 1, "%s begins elsewhere", plans[k].what);
    CHECK(r.product || r.first[0] == (r.nest.n ? r.nest.n - 1 : 0), "%s: the innermost is %d",
          plans[k].what, r.first[0]);
    CHECK(!strcmp(text_of(&r), plans[k].plan), "%s:\n%s, not\n%s", plans[k].what,
          text_of(&r), plans[k].plan);
  }
}

/* A machine that takes all matrices of the loops outside in one call: these pay for it once,
   and a sum may not run outside. */
static void batched_costs(void) {
  static const struct { const char *what; double cost; } some[] = {
    { "batch outside", (168672 - 12 * 1000) + 1000 }, { "sum outside", 0 },
    { "a product", 2248 } };
  edf_costs all = costs;
  all.batched = 1;
  for (size_t k = 0; k < sizeof plans / sizeof *plans; k++)
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
      if (strcmp(plans[k].what, some[i].what)) continue;
      edf_nest q = nest_of(&plans[k]);
      edf_route r = edf_plan_for(&q, &all);
      for (int l = 0; r.product && l < r.first[0]; l++)
        CHECK(r.nest.loop[l].s[EDF_OUT], "%s: a sum outside", plans[k].what);
      if (some[i].cost > 0)
        CHECK(r.cost == some[i].cost, "%s costs %.10g", plans[k].what, r.cost);
    }
}

int main(void) {
  RUN(round_costs);
  RUN(batched_costs);
  return harness_report();
}
