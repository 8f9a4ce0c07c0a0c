// Keys whose names match: a walk over all of them, a piece after the other, until a page is full.
// While it goes on the server does other things between two pieces.

const KEYS_SHOWN_MAX = 100;
const walk = {number: 0, cursor: '0', keys: [], lookedAt: 0, passed: 0};

async function findKeys(goesOn) {
  const number = walk.number += 1;
  if (!goesOn) Object.assign(walk, {cursor: '0', lookedAt: 0, passed: 0});
  walk.keys = [];
  show($('keys-card'), true);
  $('keys-more').disabled = true;
  try {
    do {
      const answer = await ask('/api/keys', {db: chosen.db, match: chosen.match, type: $('keys-type').value, cursor: walk.cursor});
      if (walk.number !== number) return;
      walk.cursor = answer.cursor;
      walk.keys.push(...answer.keys);
      walk.lookedAt += answer.looked_at;
      walk.passed += answer.passed_over;
      showKeys();
    } while (walk.cursor !== '0' && walk.keys.length < KEYS_SHOWN_MAX && !document.hidden);
  } catch (fault) {
    if (walk.number === number) setText($('keys-count'), faultWords(fault));
  }
}

function showKeys() {
  syncRows($('keys').tBodies[0], walk.keys, (key) => idOf(key.name), (key) => {
    const type = el('td');
    const left = el('td', {class: 'number'});
    const update = (now) => {
      setText(type, now.type);
      setText(left, now.ttl_ms < 0 ? '' : span(now.ttl_ms));
    };
    return {row: el('tr', {}, el('td', {}, keyButton(chosen.db, key.name)), type, left), update};
  });
  const over = walk.cursor === '0' ? 'all' : 'so far';
  setText($('keys-count'), `${count(walk.keys.length)} found, ${count(walk.lookedAt)} looked at (${over}). ${passedWords(walk.passed)}`);
  $('keys-more').disabled = walk.cursor === '0';
}

function forgetKeys() {
  walk.number += 1;
  show($('keys-card'), false);
}
