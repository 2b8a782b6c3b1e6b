/* mistakes.h - the mistakes that the checks can name, for the report and misconceptions.md: words
   of a message, the page of the notes, and a question that leads to the mistake. The first one
   whose words are in a message counts. */
#ifndef MISTAKES_H
#define MISTAKES_H
typedef struct { const char *says, *page, *question; } grade_mistake;
#define ENTRY "Which entries of y change if this entry of x alone changes?"
#define TERMS "How often does x stand in the formula? Each time gives a term."
#define SIGN  "If this entry grows a little, does the result grow or shrink?"
#define SLOPE "What is the derivative of this one line, if all other numbers stay?"
#define INDEX "Which indices does this entry have where the forward reads it?"
#define SIDE  "On which side of the kink is this entry, and what is the slope there?"
#define WHOSE "Whose number does the formula of the derivative have here: x or y?"
#define AGAIN "What is in this memory when the function runs for the second time?"
#define LOOP  "Does the loop reach every entry?"
#define DOMAIN "For which numbers is this function not defined?"
static const grade_mistake grade_mistakes[] = {
  { "'=' where '+=' is needed", "2", "What if another node has given to this gradient before?" },
  { "overwrites: it must add", "2", "What if another node has given to this gradient before?" },
  { "likely: the sign of", "7", TERMS },
  { "likely: the sign", "2", SIGN },
  { "wrong sign: insert", "2", SIGN },
  { "likely: a factor", "2", SLOPE },
  { "wrong factor: insert", "2", SLOPE },
  { "likely: transposed", "4", INDEX },
  { "transposed: write", "4", INDEX },
  { "are indices transposed?", "3", "Which size has each index?" },
  { "another tensor's value", "4", "Which factor stays if the other one is taken out?" },
  { "likely: exchanged", "4", "Which factor stays if the other one is taken out?" },
  { "a contribution is missing", "2", TERMS },
  { "a term too much", "2", TERMS },
  { "product rule", "7", TERMS },
  { "each entry of x changes several", "4", ENTRY },
  { "it agrees where y.grad is constant", "4", ENTRY },
  { "a wrong index", "4", ENTRY },
  { "a mask or a case is missing", "8", SIDE },
  { "a mask is missing", "8", SIDE },
  { "a mask that is wrong", "8", SIDE },
  { "a case is missing", "8", SIDE },
  { "is used where", "7", WHOSE },
  { "y.grad is not used", "2", "What becomes of the gradient if y.grad is twice as large?" },
  { "y.grad where x.grad is meant", "7", "Which of the two does backward read, and which does it "
                                         "write?" },
  { "x.grad is meant, or y.value", "7", "Which number may this function write?" },
  { "a buffer is not cleared", "7", AGAIN },
  { "'+=' into values", "7", AGAIN },
  { "a static or global variable", "7", "What if the network has two of these nodes?" },
  { "an if that skips more", "7", "What if one of the inputs wants no gradient?" },
  { "entries that are never written", "7", LOOP },
  { "entries that are not written", "7", LOOP },
  { "a division by 0", "The first NaN", DOMAIN },
  { "forward gives NaN or Inf", "The first NaN", DOMAIN },
  { "expected one node of your own", "7", "Where is your own forward, and where your backward?" },
  { 0, 0, 0 }
};
#endif
