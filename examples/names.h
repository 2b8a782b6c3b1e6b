/* names.h - a text for a small language model: 560 first names, one on each line */
#ifndef NAMES_H
#define NAMES_H

static const char names[] = "\n"
  "aaron\nabigail\nada\nadam\nadela\nadele\nadrian\nagatha\nagnes\nahmed\naida\naiko\n"
  "akira\nalan\nalba\nalbert\nalberta\naldo\nalena\nalex\nalexander\nalexandra\nalfred\n"
  "ali\nalice\nalicia\nalina\nallegra\nalonso\nalvaro\namal\namalia\namelia\namelie\namir\n"
  "amira\namy\nana\nanastasia\nandre\nandrea\nandreas\nangela\nanja\nanna\nannabel\nanne\n"
  "annika\nanselm\nanthony\nantoine\nanton\nantonia\nantonio\nariel\narmando\narno\n"
  "astrid\naugust\naurelia\naurora\nazra\nbarbara\nbarnaby\nbasil\nbeatrice\nbella\nben\n"
  "benedict\nbenjamin\nbernard\nbertha\nbettina\nbianca\nbirgit\nblanca\nbrandon\nbrenda\n"
  "brian\nbridget\nbruno\ncamilla\ncamille\ncarina\ncarl\ncarla\ncarmen\ncarol\ncarolina\n"
  "caroline\ncasper\ncatalina\ncatherine\ncecilia\nceline\ncharles\ncharlotte\nchiara\n"
  "chloe\nchristian\nchristina\nchristopher\nclaire\nclara\nclarissa\nclaude\nclaudia\n"
  "clement\ncolette\ncolin\nconnor\ncora\ncordelia\ncosimo\ndahlia\ndaisy\ndamian\ndana\n"
  "daniel\ndante\ndaphne\ndaria\ndario\ndeborah\ndelia\ndenis\ndenise\ndesmond\ndiana\n"
  "diego\ndimitri\ndominic\ndora\ndorian\ndoris\ndorothy\ndylan\nedgar\nedith\nedmund\n"
  "eduardo\neileen\nelaine\neleanor\neli\nelias\nelijah\nelin\nelisa\nelizabeth\nella\n"
  "elliot\nelsa\nelvira\nemanuel\nemil\nemilia\nemily\nenrico\nenzo\neric\nerica\nernest\n"
  "erwin\nesme\nesteban\nesther\nethan\neugene\neva\nevan\neve\nevelyn\nezra\nfabian\n"
  "fabio\nfarid\nfatima\nfelicia\nfelix\nferdinand\nfernando\nfinn\nfiona\nflora\n"
  "florence\nflorian\nfrances\nfrancesca\nfrancis\nfranco\nfrank\nfranziska\nfreda\n"
  "frederick\nfrida\nfritz\ngabriel\ngabriela\ngareth\ngeorge\ngerald\ngerda\ngiacomo\n"
  "gianna\ngisela\ngiulia\ngloria\ngordon\ngrace\ngregory\ngreta\ngudrun\nguido\ngustav\n"
  "hana\nhannah\nhans\nharald\nharold\nharriet\nharry\nharuki\nhassan\nhazel\nhector\n"
  "hedwig\nheidi\nhelena\nhelga\nhenrietta\nhenrik\nhenry\nherman\nhilda\nhiro\nhortense\n"
  "howard\nhubert\nhugo\nian\nida\nignacio\nigor\nilona\nilse\nines\ninga\ningrid\nirene\n"
  "iris\nirma\nisaac\nisabel\nisabella\nisidore\nivan\nivy\njack\njacob\njacqueline\njade\n"
  "jakob\njames\njan\njana\njane\njanina\njasmin\njasper\njavier\njean\njennifer\njerome\n"
  "jessica\njoan\njoanna\njoaquin\njohan\njohanna\njonas\njonathan\njordan\njose\njoseph\n"
  "josephine\njuan\njudith\njulia\njulian\njuliana\njulie\njuliet\njulius\njune\nkai\n"
  "kamala\nkara\nkaren\nkarim\nkarin\nkarla\nkaspar\nkatarina\nkate\nkatharina\nkathleen\n"
  "keiko\nkevin\nkhalid\nkira\nklara\nklaus\nkristin\nkurt\nlaila\nlana\nlara\nlars\n"
  "laszlo\nlaura\nlea\nleander\nleila\nleon\nleonard\nleonardo\nleonie\nleopold\nleticia\n"
  "liam\nlidia\nlilian\nlily\nlina\nlinda\nlinus\nlionel\nlisa\nliv\nlorena\nlorenzo\n"
  "lotte\nlouis\nlouisa\nluca\nlucian\nlucy\nludwig\nluis\nlydia\nmadeleine\nmagda\n"
  "magnus\nmaia\nmalik\nmalin\nmanuela\nmara\nmarc\nmarcel\nmarco\nmarcus\nmargaret\n"
  "margot\nmaria\nmariam\nmariana\nmarina\nmarion\nmarius\nmarlene\nmarta\nmartha\nmartin\n"
  "martina\nmary\nmateo\nmatteo\nmatthew\nmaura\nmaurice\nmax\nmaximilian\nmaya\nmei\n"
  "melina\nmelissa\nmercedes\nmichelle\nmiguel\nmila\nmilan\nmilena\nmilo\nmina\nmiranda\n"
  "miriam\nmohamed\nmoira\nmona\nmoritz\nmuriel\nnadia\nnaoko\nnaomi\nnatalia\nnathan\n"
  "nathaniel\nnestor\nnicola\nnicole\nnils\nnina\nnoel\nnorbert\nnorma\nnorman\noctavia\n"
  "odette\nolaf\nolga\noliver\nolivia\nophelia\noscar\noskar\nosman\notto\npablo\npaloma\n"
  "pamela\npascal\npatricia\npatrick\npaul\npaula\npauline\npedro\npenelope\npeter\npetra\n"
  "philip\npia\npierre\npriya\nquentin\nrachel\nrafael\nrahel\nraimund\nralph\nramon\n"
  "ramona\nraoul\nraymond\nrebecca\nregina\nreinhard\nrena\nrenata\nrene\nricardo\n"
  "richard\nroberta\nrobin\nroderick\nrodrigo\nroland\nromeo\nromy\nrosa\nrosalind\nrose\n"
  "roxana\nruben\nrudolf\nrufus\nrupert\nruth\nsabina\nsalma\nsalome\nsamira\nsamuel\n"
  "sandra\nsanjay\nsara\nsarah\nsaskia\nsebastian\nselena\nselma\nserena\nsergei\nsheila\n"
  "shirin\nsibyl\nsiegfried\nsigrid\nsilvia\nsimone\nsofia\nsophia\nsophie\nstefan\n"
  "stefanie\nstella\nstephen\nsusan\nsven\nsylvester\ntabea\ntamara\ntara\ntatiana\n"
  "teresa\ntess\nthalia\nthea\ntheodor\ntheresa\nthomas\ntilda\ntimothy\ntina\ntommaso\n"
  "toni\nulrich\nulrike\numa\nursula\nvalentina\nvaleria\nvalerie\nvanessa\nvera\n"
  "veronica\nvictoria\nviola\nviolet\nvivian\nvladimir\nwanda\nwendelin\nwerner\nwilfred\n"
  "xavier\nximena\nyara\nyasmin\nyolanda\nyuki\nyusuf\nyvonne\nzara\nzelda\nzeno\nzita\n"
  "zoe\n";

#ifdef EDF_DATA_4_H
/* Fills each row with T letters of random names. '\n' begins a name. y is the next letter. */
static inline void names_rows(const edf_vocabulary *text, edf_real *x, edf_real *y, int rows,
                              int T) {
  const edf_real *letter = text->classes.value, end = (edf_real)text->number['\n'];
  int n = (int)text->classes.size;
  for (int k = 0, i = 0; k < rows * T; k++, i++) {
    if (k % T == 0 || letter[i] == end || i + 1 == n)
      for (i = edf_below(n - 1); i > 0 && letter[i] != end; i--) {}
    x[k] = letter[i];
    y[k] = letter[i + 1];
  }
}
#endif

#endif /* NAMES_H */
