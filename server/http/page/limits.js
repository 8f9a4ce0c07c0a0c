// Limiters: which keys are refused most, how full they are, and what was decided in all.

const refusedBefore = new Map();  // by key: {count, at}

function refusedNow(row) {
  const key = `${row.db}:${idOf(row.name)}`;
  const now = performance.now();
  const before = refusedBefore.get(key);
  refusedBefore.set(key, {count: row.count, at: now});
  if (!before || now - before.at < 200 || row.count < before.count) return null;
  return (row.count - before.count) / ((now - before.at) / 1000);
}

function usedWords({limiter, bucket}) {
  return limiter ? `${short(limiter.used)} of ${short(limiter.capacity)}` : bucket ? short(bucket.level) : 'whole';
}

const LIMITS_WIDE = 20;
const LIMITS_NARROW = 6;
const DECISIONS_WIDE = 12;
const DECISIONS_NARROW = 6;
let limitsShown = null;
const limitPages = new Pages('limits', () => showLimits(limitsShown));
const decisionPages = new Pages('decisions', () => showLimits(limitsShown));

function makeLimitRow(row) {
  const refused = el('td', {class: 'number', 'data-label': 'Refused'});
  const rate = el('td', {class: 'number', 'data-label': 'Now'});
  const words = el('span');
  const fill = el('i');
  const bar = el('div', {class: 'bar', 'aria-hidden': 'true'}, fill);
  const db = row.db === chosen.db ? '' : el('span', {class: 'tag'}, `db ${row.db}`);
  const made = el('tr', {}, el('td', {class: 'first'}, keyButton(row.db, row.name), ' ', db), refused, rate,
    el('td', {'data-label': 'Used'}, words, bar));
  const update = (item) => {
    setText(refused, short(item.count));
    refused.title = item.excess > 0 ? `of which ${count(item.excess)} may be others'` : '';
    const now = refusedNow(item);
    if (now !== null) setText(rate, now > 0 ? `${short(now)}/s` : '');
    const {limiter} = item;
    show(bar, Boolean(limiter));
    setText(words, usedWords(item));
    if (!limiter) return;
    const share = Math.min(1, limiter.used / limiter.capacity);
    fill.style.transform = `scaleX(${share.toFixed(4)})`;
    bar.classList.toggle('full', limiter.remaining === 0);
  };
  return {row: made, update};
}

function makeDecisionRow(item) {
  const taken = el('td', {class: 'number'});
  const refused = el('td', {class: 'number'});
  const name = item.isPolicy ? [el('span', {class: 'tag'}, 'policy'), ' ', ...nameParts(item.name)] : [item.name];
  const update = (now) => {
    setText(taken, short(now.taken));
    setText(refused, short(now.refused));
  };
  return {row: el('tr', {}, el('th', {scope: 'row'}, ...name), taken, refused), update};
}

function showLimits(answer) {
  limitsShown = answer;
  const all = answer.refused || [];
  show($('limits'), all.length > 0);
  show($('limits-none'), all.length === 0);
  setText($('limits-none'), answer.refused ? 'No limiter has refused a request.' : 'Refusals are counted by name from now on.');
  setText($('limits-count'), answer.waiting > 0 ? `${plural(answer.waiting, 'request waits', 'requests wait')} for a limit` : '');
  const rows = limitPages.slice(all, rowsOf(LIMITS_WIDE, LIMITS_NARROW));
  syncRows($('limits').tBodies[0], rows, (row) => `${row.db}:${idOf(row.name)}`, makeLimitRow);
  const decided = answer.algorithms.filter((one) => one.taken + one.refused > 0)
    .concat(answer.policies.map((one) => ({...one, isPolicy: true})));
  show($('decisions'), decided.length > 0);
  const shown = decisionPages.slice(decided, rowsOf(DECISIONS_WIDE, DECISIONS_NARROW));
  syncRows($('decisions').tBodies[0], shown, (one) => (one.isPolicy ? `p:${idOf(one.name)}` : `a:${one.name}`), makeDecisionRow);
}
function forgetLimits(words) {
  show($('limits'), false);
  show($('decisions'), false);
  show($('limits-pages'), false);
  show($('decisions-pages'), false);
  show($('limits-none'), true);
  setText($('limits-none'), words);
  setText($('limits-count'), '');
}
