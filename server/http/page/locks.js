// The locks that are held, a page of them. Leases run down by themselves between two answers.

const LOW_SHARE = 0.2;
const LOCKS_WIDE = 25;
const LOCKS_NARROW = 8;
const LOCK_LOOKS_MAX = 8;  // requests of a search in one round
const lockPages = new Pages('locks', refresh);

// What runs down: a text and a bar, of the whole lease that the server tells.
class Lease {
  constructor() {
    this.words = el('span', {class: 'number'});
    this.fill = el('i');
    this.bar = el('div', {class: 'bar', 'aria-hidden': 'true'}, this.fill);
    this.element = el('div', {}, this.words, this.bar);
  }
  set(holder) {
    this.holder = holder;
    this.tick();
  }
  tick() {
    setText(this.words, this.holder ? leaseWords(this.holder) : '');
    const whole = this.holder && this.holder.lease_ms >= 0 ? this.holder.lease_whole_ms : 0;
    const left = whole > 0 ? leftOf(this.holder, this.holder.lease_ms) : 0;
    show(this.bar, left > 0);
    const share = left > 0 ? Math.min(1, left / whole) : 0;
    this.fill.style.transform = `scaleX(${share.toFixed(4)})`;
    this.bar.classList.toggle('low', share < LOW_SHARE);
  }
}

// Nothing is there to be broken: each holder has given it back, or its lease is over.
function isEnded(lock) {
  return lock.more_holders === 0 && lock.holders.every((holder) =>
    holder.holds === 0 || (!holder.session && holder.lease_ms >= 0 && leftOf(holder, holder.lease_ms) === 0));
}

function makeLockRow(lock) {
  const lease = new Lease();
  const owner = el('td', {'data-label': 'Holder'});
  const held = el('td', {class: 'number', 'data-label': 'Held for'});
  const waiting = el('td', {class: 'number', 'data-label': 'Waiting'});
  const mode = el('span', {class: 'tag'});
  const act = el('td', {class: 'act'});
  const row = el('tr', {}, el('td', {class: 'first'}, keyButton(chosen.db, lock.name), ' ', mode), owner,
    el('td', {'data-label': 'Lease'}, lease.element), held, waiting, act);
  let shownOwner = '';
  let item = lock;
  const tick = () => {
    lease.tick();
    setText(held, item.holders[0] ? span(sinceAnswer(item.holders[0], item.holders[0].held_ms)) : '');
    syncBreak(act, item);
  };
  const update = (now) => {
    item = now;
    const [holder] = item.holders;
    show(mode, item.mode !== 'exclusive');
    setText(mode, modeWords(item));
    const others = item.holders.length - 1 + item.more_holders;
    const signature = holder ? `${idOf(holder.owner)} ${others} ${holder.label} ${fromWords(holder)}` : '';
    if (signature !== shownOwner) {
      shownOwner = signature;
      owner.replaceChildren(...(holder ? nameParts(holder.owner) : []));
      if (others > 0) owner.append(' ', el('span', {class: 'tag'}, `and ${count(others)} more`));
      if (holder) owner.append(...fromParts(holder));
    }
    lease.set(holder);
    setText(waiting, item.waiters < 0 ? '?' : count(item.waiters));
    tick();
  };
  return {row, update, tick};
}

// A button, exactly while the visitor may, and there is something to break.
function syncBreak(cell, lock) {
  const may = overview.actions === 'on' && lock.name.id !== undefined && !isEnded(lock);
  if (may === (cell.childElementCount > 0)) return;
  keepFocus(cell.closest('tbody') || cell, () => {
    cell.replaceChildren();
    if (may) {
      cell.append(button('Break', {class: 'danger small quiet', 'aria-label': `Break the lock ${nameText(lock.name)}`},
        () => breakLock(chosen.db, lock.name)));
    }
  });
}

// A page. A search looks on through what has no such name, a piece after the other; how far it
// came is kept, so that the next round goes on from there.
async function askLocks() {
  const rows = rowsOf(LOCKS_WIDE, LOCKS_NARROW);
  const all = {locks: [], passed_over: 0};
  let cursor = lockPages.start;
  for (let looks = 0; looks < LOCK_LOOKS_MAX; looks += 1) {
    const answer = await ask('/api/locks', {db: chosen.db, match: chosen.match, cursor, rows: rows - all.locks.length});
    Object.assign(all, answer, {locks: all.locks.concat(answer.locks), passed_over: all.passed_over + answer.passed_over});
    cursor = answer.cursor;
    if (all.locks.length === 0 && cursor !== '0') lockPages.skipTo(cursor);
    if (cursor === '0' || all.locks.length >= rows || chosen.match === '') break;
  }
  return all;
}

// How many of all that are held are of this database; -1: it is not known.
function heldHereOf(answer) {
  const filled = (overview.databases || []).filter(({keys}) => keys > 0);
  return filled.length === 1 && filled[0].db === chosen.db ? answer.held : -1;
}

function showLocks(answer) {
  const {locks} = answer;
  const heldHere = heldHereOf(answer);
  stamp(locks);
  const rows = rowsOf(LOCKS_WIDE, LOCKS_NARROW);
  const isOver = answer.cursor === '0';
  // A page that is full may end where the list does.
  const isLast = isOver || (chosen.match === '' && heldHere >= 0 && lockPages.at * rows + locks.length >= heldHere);
  show($('locks'), locks.length > 0);
  show($('locks-none'), locks.length === 0 || (!isOver && chosen.match !== '' && locks.length < rows));
  setText($('locks-none'), !isOver && chosen.match !== '' ? `${locks.length > 0 ? 'There may be more' : 'None so far'}: not all names were looked at yet.`
    : lockPages.at > 0 ? 'None on this page.' : chosen.match ? 'No lock that is held has such a name.'
      : answer.held > 0 ? 'No lock of this database is held.' : 'No lock is held.');
  const parts = [];
  if (chosen.match && locks.length > 0) parts.push(`${count(locks.length)} shown that match`);
  if (answer.held > 0) parts.push(`${count(answer.held)} held${heldHere < 0 ? ' in all databases' : ''}`);
  setText($('locks-count'), parts.join(' of '));
  syncRows($('locks').tBodies[0], locks, (lock) => idOf(lock.name), makeLockRow);
  lockPages.show(isLast ? null : answer.cursor, chosen.match === '' && heldHere > 0 ? Math.ceil(heldHere / rows) : 0);
  setText($('locks-passed'), passedWords(answer.passed_over));
}
function forgetLocks(words) {
  syncRows($('locks').tBodies[0], [], () => '', () => null);
  show($('locks'), false);
  show($('locks-none'), true);
  setText($('locks-none'), words);
  setText($('locks-count'), '');
}

// --- how long requests waited, in all and by prefix: since the start or CONFIG RESETSTAT

const IN_VAIN_WORDS = {timeout: 'timed out', turned_away: 'turned away', closed: 'gone', deadlock: 'in a circle'};

// Empty: none has waited.
function waitedWords(waits) {
  const inVain = Object.entries(waits.in_vain).filter(([, number]) => number > 0);
  const all = inVain.reduce((sum, [, number]) => sum + number, 0);
  const why = inVain.map(([reason, number]) => `${count(number)} ${IN_VAIN_WORDS[reason]}`).join(', ');
  const had = waits.count === 0 ? '' : `${plural(waits.count, 'request', 'requests')} waited and had the lock: half within `
    + `${micros(1000 * waits.p50_ms)}, 99 % within ${micros(1000 * waits.p99_ms)}`;
  return [had, all > 0 ? `${count(all)} waited in vain (${why})` : ''].filter(Boolean).join('; ');
}

function showLockWaits(waits) {
  const lines = [['', waitedWords(waits)], ...waits.prefixes.map((each) => [each.prefix, waitedWords(each)])]
    .filter(([, words]) => words !== '');
  const list = $('locks-waited');
  const signature = JSON.stringify(lines);
  if (list.signature === signature) return;
  list.signature = signature;
  show(list, lines.length > 0);
  list.replaceChildren(...lines.map(([prefix, words]) => el('li', {},
    prefix === '' ? '' : el('span', {class: 'tag'}, `${prefix}…`), prefix === '' ? '' : ' ', words)));
}

function passedWords(passed) {
  return passed > 0 ? `${plural(passed, 'name was', 'names were')} passed over: too long, or the glob takes too much time.` : '';
}

function tickLocks() {
  for (const {tick} of ($('locks').tBodies[0].known || new Map()).values()) tick();
}
