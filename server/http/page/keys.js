// Keys whose names match, or of one type: a walk over all of them, a piece after the other, until a
// page is full. While it goes on the server does other things between two pieces.

const KEYS_WIDE = 25;
const KEYS_NARROW = 12;
const KEYS_KEPT_MAX = 5000;  // then the oldest pages are enough: a search finds less
const walk = {number: 0, cursor: '0', keys: [], lookedAt: 0, passed: 0, fault: ''};
const keyPages = new Pages('keys', turnKeys);

// From the first key on.
function findKeys() {
  Object.assign(walk, {cursor: '0', keys: [], lookedAt: 0, passed: 0, fault: ''});
  keyPages.begin();
  show($('keys-card'), true);
  return lookOn();
}

// Until the page is full, or nothing is left.
async function lookOn() {
  const number = walk.number += 1;
  const wanted = Number(keyPages.start) + rowsOf(KEYS_WIDE, KEYS_NARROW) + 1;
  const isOn = () => walk.keys.length < Math.min(wanted, KEYS_KEPT_MAX) && !document.hidden;
  walk.isGoing = true;
  try {
    do {
      const answer = await ask('/api/keys', {db: chosen.db, match: chosen.match, type: chosen.type, cursor: walk.cursor});
      if (walk.number !== number) return;
      walk.cursor = answer.cursor;
      walk.keys.push(...answer.keys);
      walk.lookedAt += answer.looked_at;
      walk.passed += answer.passed_over;
      walk.isGoing = walk.cursor !== '0' && isOn();
      showKeys();
    } while (walk.isGoing);
  } catch (fault) {
    if (walk.number !== number) return;
    Object.assign(walk, {isGoing: false, fault: faultWords(fault)});
    showKeys();
  }
}

function turnKeys() {
  const isThere = walk.keys.length > Number(keyPages.start) + rowsOf(KEYS_WIDE, KEYS_NARROW);
  if (isThere || walk.cursor === '0' || walk.isGoing) showKeys();
  else lookOn();
}

function makeKeyRow(key) {
  const type = el('td');
  const left = el('td', {class: 'number'});
  const update = (now) => {
    setText(type, now.limiter || now.bucket ? `${now.type}, ${usedWords(now)}` : now.type);
    setText(left, now.ttl_ms < 0 ? '' : span(now.ttl_ms));
  };
  return {row: el('tr', {}, el('td', {}, keyButton(chosen.db, key.name)), type, left), update};
}

function showKeys() {
  const rows = rowsOf(KEYS_WIDE, KEYS_NARROW);
  const from = Number(keyPages.start);
  const isOver = walk.cursor === '0';
  const isMore = walk.keys.length > from + rows || (!isOver && walk.keys.length < KEYS_KEPT_MAX);
  syncRows($('keys').tBodies[0], walk.keys.slice(from, from + rows), (key) => idOf(key.name), makeKeyRow);
  show($('keys'), walk.keys.length > 0);
  show($('keys-none'), walk.keys.length === 0);
  const kind = chosen.type === '' ? 'key' : chosen.type;
  setText($('keys-none'), walk.fault ? `Not known: ${walk.fault}` : !isOver ? 'None so far; not all were looked at yet.'
    : chosen.match ? `No ${kind} has such a name.` : `There is no ${kind} in this database.`);
  keyPages.show(isMore ? String(from + rows) : null, isOver ? Math.ceil(walk.keys.length / rows) : 0);
  const parts = [`${count(walk.keys.length)} found`, `${count(walk.lookedAt)} looked at${isOver ? ', which are all' : ' so far'}`];
  if (walk.fault && walk.keys.length > 0) parts.push(walk.fault);
  if (walk.keys.length >= KEYS_KEPT_MAX && !isOver) parts.push('a search finds what is behind them');
  setText($('keys-count'), `${parts.join('; ')}. ${passedWords(walk.passed)}`);
}

function forgetKeys() {
  walk.number += 1;
  walk.isGoing = false;
  show($('keys-card'), false);
}
