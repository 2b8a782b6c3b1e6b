// The program of the playground without a browser.   node program.js PROGRAM
'use strict';
const { spawnSync } = require('child_process');

// Returns the answers of the commands, and what was printed between them.
function run(...commands) {
  const input = commands.map(c => Buffer.byteLength(c) + '\n' + c + '\n').join('');
  const lines = spawnSync(process.argv[2], { input, maxBuffer: 1 << 26 }).stdout.toString();
  const answers = [];
  let text = '', json = '';
  for (const line of lines.split('\n')) {
    if (!json && !line.startsWith('{"')) { text += line + '\n'; continue; }
    json += line;
    try { answers.push(JSON.parse(json)); json = ''; } catch (more) { /* an answer of several lines */ }
  }
  return { answers, text };
}
let failed = 0;
function check(name, right, found) {
  console.log(right ? 'ok ' + name : `not ok ${name}: found ${JSON.stringify(found)}`);
  failed += !right;
}

const head = 'input x[b,2], y[b]\n';
const xor = head + 'h[b,j] = tanh(W[j,I] x[b,I] - B[j]) | j<8\nP[b,k] = softmax_k V[k,J] h[b,J] | k<2\n' +
  'loss[b] = -ln P[b,y[b]]\n';

let r = run('text 1\n' + xor, 'data xor', 'step 200 0.5 4 sgd', 'look', 'view');
const { trace, lines, numbers } = r.answers[3], { nodes } = trace, losses = r.answers[2].loss;
check('nodes', numbers === 40 && nodes.map(n => n.name).join() === 'x,y,W,B,V,h0,h,P2,P,loss', nodes.map(n => n.name));
check('lines', lines.join() === '0,0,0,0,0,2,2,3,3,4', lines);
check('headings', nodes.map(n => n.heading ?? n.name).join('; ') === 'x; y; W; B; V; ' +
  'h[b,j] = tanh(W[j,I] x[b,I] - B[j]) | j<8; '.repeat(2) +
  'P[b,k] = softmax_k V[k,J] h[b,J] | k<2; '.repeat(2) + 'loss[b] = -ln P[b,y[b]]', nodes.map(n => n.heading));
check('groups', nodes.slice(5).map(n => n.group - nodes[5].group).join() === '0,0,1,1,2', nodes.map(n => n.group));
check('backward', nodes[5].back.some(line => line.includes('W.grad[j,i] += h0.grad[b,j] x[b,i]')), nodes[5].back);
check('learns', losses[199] < 0.05 && losses[0] > 0.5, [losses[0], losses[199]]);
check('values', nodes[4].value.length === 16 && nodes[4].grad.length === 16, nodes[4]);
check('values-are-of-the-new-parameters', nodes[9].value.every(x => x < 0.1), nodes[9].value);
check('boundary', r.answers[4].p.length === 1024 && r.answers[4].y.length === 4, Object.keys(r.answers[4]));
r = run('text 1\n' + xor, 'data xor', 'look 0', 'look 1');
check('numbers-on-demand', r.answers[2].trace.nodes[4].value.length === 0 && r.answers[3].trace.nodes[4].value.length === 1, r.answers[2]);

r = run('text 1\n' + xor, 'data spirals', 'step 30 0.5 20 sgd', 'text 1\n' + xor, 'data spirals', 'look', 'view', 'step 30 0.5 20 sgd');
check('looking-changes-nothing', JSON.stringify(r.answers[2]) === JSON.stringify(r.answers[7]), [r.answers[2].loss, r.answers[7].loss]);

// A curve, and Inputs of any shape get random numbers.
r = run('text 1\ninput x[b,1], y[b]\nh[b,j] = tanh(W[j,I] x[b,I]) | j<9\nf[b] = V[J] h[b,J]\nloss[b] = (f[b] - y[b])^2',
        'data curve', 'step 300 0.02 20 adam', 'view');
check('curve', r.answers[3].curve.length === 101 && r.answers[2].loss[299] < r.answers[2].loss[0], r.answers[2]);
r = run('text 1\ninput a[b,3], c[b]\nd[b] = W[I] a[b,I] + c[b]', 'data random', 'look', 'view');
check('no-picture-is-an-answer', r.answers.length === 4 && r.answers[3].nothing === 1, r.answers[3]);
check('random-inputs', r.answers[2].trace.nodes[0].value.length === 12 && r.answers[2].trace.nodes[1].value.every(x => x === 0 || x === 1), r.answers[2]);
r = run('text 1\ninput x[b,2]\ny[b] = x[b,I]^2', 'data random', 'look', 'step 1 0.1 4 sgd');
check('nothing-to-train', r.answers[2].trace.nodes[1].value.length === 4 && /nothing to train/.test(r.answers[3].error), r.answers[3]);

// Every example learns, and those of the page of papers are its texts.
const { readFileSync } = require('fs');
const examples = new Function(readFileSync('notes/playground/examples.js') + 'return examples')();
for (const { name, data, rate, batch, rule, text } of examples) {
  r = run('text 1\n' + text, 'data ' + data, `step ${batch < 50 ? 60 : 400} ${rate} ${batch} ${rule}`);
  const { loss } = r.answers[2], mean = of => of.reduce((a, b) => a + b) / of.length;
  check('learns-' + name.replace(/[ ,]+/g, '-'), mean(loss.slice(-10)) < 0.97 * mean(loss.slice(0, 10)), r.answers[2]);
}
const pages = readFileSync('notes/papers.md', 'utf8').split('```edf').slice(2).map(b => b.slice(b.indexOf('\n') + 1, b.indexOf('```')));
check('ten-equations-of-papers', pages.length === 10 && pages.every(p => examples.some(e => e.text === p)), pages.length);

// A derivative in a text is a part of the program.
r = run('text 1\ninput x[b,1], y[b]\nu[b] = V[J] tanh(W[J,I] x[b,I]) | J<4\nd[b,i] = grad(u, x[b,i])\nloss[b] = (d[b,0] + u[b] - y[b])^2',
        'data curve', 'step 200 0.02 20 adam', 'look');
check('derivatives', r.answers[2].loss?.[199] < r.answers[2].loss?.[0] && r.answers[3].trace.nodes.some(n => n.heading === 'u.x = grad(u, x)'), r.answers[2]);

// Later steps of a recurrence are folded.
r = run('text 1\ninput x[b,9]\nh[b,t] = tanh(h[b,t-1] + W x[b,t])\nparameter W'.replace(/(.*\n)(.*)\n(parameter W)/, '$1$3\n$2'), 'data random', 'look 0');
const steps = r.answers[2].trace.nodes.filter(n => n.kind === 2 && n.line[0]);
check('folded-steps', [...new Set(steps.map(n => n.folded || ''))].join() === ',t=2,t=3,t=4,t=5,t=6,t=7,t=8' &&
      steps.find(n => n.folded).heading === '[t=2]', steps.map(n => n.folded));

// Errors, and the program goes on after them.
r = run('text 1\n' + xor.replace('x[b,I]', 'x[b,I,I]'), 'text 1\n' + xor, 'data digits', 'data nothing', 'answer 99\n', 'shout',
        'text 1\n' + xor);
const errors = r.answers.map(a => a.error);
check('error-has-line-and-caret', /^slide:1: Equations: line 2: .*\n *\^\n/.test(errors[0]), errors[0]);
check('error-of-data', errors[2] === 'the data set digits has 64 numbers a row for x, but a row of x has 2', errors[2]);
check('error-of-names', /no data set is called nothing/.test(errors[3]) && /no node 99/.test(errors[4]) &&
      /no command is called shout/.test(errors[5]), errors);
check('goes-on', r.answers[6].nodes === 10, r.answers[6]);

// A submitted backward of each node, and the gradient check.
const right = 'for b,i,j: W.grad[j,i] += h0.grad[b,j] x[b,i]\nfor b,j: B.grad[j] -= h0.grad[b,j]';
r = run('text 1\n' + xor, 'data xor', 'answer 5\n' + right, 'answer 5\n' + right.replace('-=', '+='), 'check');
check('right-answer', r.answers[2].error_of < 1e-6, r.answers[2]);
check('wrong-answer', r.answers[3].error_of > 0.1 && /sign/.test(r.text), r.text);
check('gradient-check', r.answers[4].error_of < 1e-6 && /ok    d loss \/ d W/.test(r.text), r.text);

const ones = ['h0.grad[b,j] += h.grad[b,j] (1 - h[b,j]^2)', 'h0.grad[b,j] += h.grad[b,j] (1 - h0[b,j]^2)',
              'for b,k: P2.grad[b,k] += loss.grad[b] (exp(P2[b,k]) / sum_K exp(P2[b,K]) - 1[k = y[b]])'];
r = run('text 1\n' + xor, 'data xor', 'answer 6\n' + ones[0], 'answer 6\n' + ones[1], 'answer 9\n' + ones[2], 'step 5 0.5 4 sgd');
check('answer-of-a-function', r.answers[2].error_of < 1e-6 && r.answers[3].error_of > 0.01 && /another tensor|write h/.test(r.text), r.text);
check('answer-of-fused-nodes', r.answers[4].error_of < 1e-6 && r.answers[5].steps === 5, r.answers);

process.exit(failed > 0 ? 1 : 0);
