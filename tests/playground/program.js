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

let r = run('text 1\n' + xor, 'data xor', 'step 200 0.5 4 sgd', 'value 4', 'entry 5 1', 'view');
const { nodes, numbers } = r.answers[0], losses = r.answers[2].loss, entry = r.answers[4];
check('nodes', numbers === 40 && nodes.map(n => n.name).join() === 'x,y,W,B,V,h0,h,P2,P,loss', nodes);
check('lines', nodes.map(n => n.line).join() === '0,0,0,0,0,2,2,3,3,4', nodes.map(n => n.line));
check('headings', nodes.map(n => n.heading ?? n.name).join('; ') === 'x; y; W; B; V; ' +
  'h[b,j] = tanh(W[j,I] x[b,I] - B[j]) | j<8; '.repeat(2) +
  'P[b,k] = softmax_k V[k,J] h[b,J] | k<2; '.repeat(2) + 'loss[b] = -ln P[b,y[b]]', nodes.map(n => n.heading));
check('groups', nodes.slice(5).map(n => n.group - nodes[5].group).join() === '0,0,1,1,2', nodes.map(n => n.group));
check('backward', nodes[5].backward.includes('W.grad[j,i] += h0.grad[b,j] x[b,i]'), nodes[5].backward);
check('learns', losses[199] < 0.05 && losses[0] > 0.5, [losses[0], losses[199]]);
check('values', r.answers[3].value.length === 16 && r.answers[3].grad.length === 16, r.answers[3]);
const sum = entry.products.reduce((s, p) => s + p.is, 0);
check('entry', entry.entry === 'h0[0,1]' && entry.all === 3 && Math.abs(sum - entry.value) < 1e-5, entry);
check('boundary', r.answers[5].p.length === 1024 && r.answers[5].y.length === 4, Object.keys(r.answers[5]));

r = run('text 1\n' + xor, 'data xor', 'step 30 0.5 4 sgd', 'text 1\n' + xor, 'data xor', 'step 30 0.5 4 sgd');
check('same-seed', JSON.stringify(r.answers[2]) === JSON.stringify(r.answers[5]), r.answers[5].loss);

// Later steps of a recurrence are folded.
r = run('text 1\ninput x[b,9]\nh[b,t] = tanh(h[b,t-1] + x[b,t])');
const steps = r.answers[0].nodes.filter(n => n.kind === 2);
check('folded-steps', [...new Set(steps.map(n => n.folded))].join() === ',t=2,t=3,t=4,t=5,t=6,t=7,t=8' &&
      steps.find(n => n.folded).heading === '[t=2]', steps.map(n => n.folded));

// Errors, and the program goes on after them.
r = run('text 1\n' + xor.replace('x[b,I]', 'x[b,I,I]'), 'text 1\n' + xor, 'data digits', 'data nothing', 'entry 99 0',
        'shout', 'text 1\n' + xor);
const errors = r.answers.map(a => a.error);
check('error-has-line-and-caret', /^slide:1: Equations: line 2: .*\n *\^\n/.test(errors[0]), errors[0]);
check('error-of-data', errors[2] === 'the data set digits has 64 numbers a row for x, but a row of x has 2', errors[2]);
check('error-of-names', /no data set is called nothing/.test(errors[3]) && /no node 99/.test(errors[4]) &&
      /no command is called shout/.test(errors[5]), errors);
check('goes-on', r.answers[6].numbers === 40, r.answers[6]);

// A submitted backward and the gradient check.
const right = 'for b,i,j: W.grad[j,i] += h0.grad[b,j] x[b,i]\nfor b,j: B.grad[j] -= h0.grad[b,j]';
r = run('text 1\n' + xor, 'data xor', 'answer 5\n' + right, 'answer 5\n' + right.replace('-=', '+='), 'check');
check('right-answer', r.answers[2].error_of < 1e-6, r.answers[2]);
check('wrong-answer', r.answers[3].error_of > 0.1 && /sign/.test(r.text), r.text);
check('gradient-check', r.answers[4].error_of < 1e-6 && /ok    d loss \/ d W/.test(r.text), r.text);

process.exit(failed > 0 ? 1 : 0);
