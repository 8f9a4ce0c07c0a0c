// The locks that are held, a page of them. Leases run down by themselves between two answers.

const LOW_SHARE = 0.2;
const lockPage = {cursor: '0', next: '0'};
const leases = new Map();  // by token: how long its lease is, as far as is known

// An answer tells what is left. The whole is what was held and is left, as long as no renewal is
// seen; from then on what was left behind it.
function wholeLease(holder) {
  const known = leases.get(holder.token);
  const now = performance.now();
  const ends = now + holder.lease_ms;
  if (known && ends > known.ends + 500) known.whole = holder.lease_ms;
  const lease = known || {whole: holder.held_ms + holder.lease_ms};
  lease.ends = ends;
  lease.seen = now;
  leases.set(holder.token, lease);
  return Math.max(lease.whole, holder.lease_ms, 1);
}
const LEASE_KEPT_MS = 60000;
function forgetLeases() {
  const now = performance.now();
  for (const [token, lease] of leases) {
    if (now - lease.seen > LEASE_KEPT_MS) leases.delete(token);
  }
}

// What runs down: a text and a bar.
class Lease {
  constructor() {
    this.words = el('span', {class: 'number'});
    this.fill = el('i');
    this.bar = el('div', {class: 'bar', 'aria-hidden': 'true'}, this.fill);
    this.element = el('div', {}, this.words, this.bar);
  }
  set(holder) {
    this.holder = holder;
    this.whole = holder && holder.lease_ms >= 0 ? wholeLease(holder) : 0;
    show(this.bar, this.whole > 0);
    this.tick();
  }
  tick() {
    if (!this.holder) return setText(this.words, '');
    setText(this.words, leaseWords(this.holder));
    if (this.whole === 0) return undefined;
    const share = Math.min(1, leftOf(this.holder, this.holder.lease_ms) / this.whole);
    this.fill.style.transform = `scaleX(${share.toFixed(4)})`;
    this.bar.classList.toggle('low', share < LOW_SHARE);
    return undefined;
  }
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
    if (item.holders[0]) setText(held, span(sinceAnswer(item.holders[0], item.holders[0].held_ms)));
  };
  const update = (now) => {
    item = now;
    const [holder] = item.holders;
    show(mode, item.mode !== 'exclusive');
    setText(mode, modeWords(item));
    const others = item.holders.length - 1 + item.more_holders;
    const signature = holder ? `${idOf(holder.owner)} ${others}` : '';
    if (signature !== shownOwner) {
      shownOwner = signature;
      owner.replaceChildren(...(holder ? nameParts(holder.owner) : []));
      if (others > 0) owner.append(' ', el('span', {class: 'tag'}, `and ${count(others)} more`));
    }
    lease.set(holder);
    setText(waiting, item.waiters < 0 ? '?' : count(item.waiters));
    syncBreak(act, item.name, item.mode);
    tick();
  };
  return {row, update, tick};
}

// A button, exactly while the visitor may.
function syncBreak(cell, name) {
  const may = overview.actions === 'on' && name.id !== undefined;
  if (may === (cell.childElementCount > 0)) return;
  cell.replaceChildren();
  if (may) {
    cell.append(button('Break', {class: 'danger small', 'aria-label': `Break the lock ${nameText(name)}`},
      () => breakLock(chosen.db, name)));
  }
}

function showLocks(answer) {
  const {locks} = answer;
  stamp(locks);
  lockPage.next = answer.cursor;
  const isPaged = lockPage.cursor !== '0' || answer.cursor !== '0';
  show($('locks'), locks.length > 0);
  show($('locks-none'), locks.length === 0);
  setText($('locks-none'), isPaged ? 'None on this page.' : chosen.match ? 'No lock that is held has such a name.' : 'No lock is held.');
  setText($('locks-count'), answer.held > 0 ? `${count(answer.held)} held${isPaged ? `, ${count(locks.length)} shown` : ''}` : '');
  syncRows($('locks').tBodies[0], locks, (lock) => idOf(lock.name), makeLockRow);
  show($('locks-pages'), isPaged || answer.passed_over > 0);
  $('locks-first').disabled = lockPage.cursor === '0';
  $('locks-next').disabled = answer.cursor === '0';
  setText($('locks-passed'), passedWords(answer.passed_over));
  forgetLeases();
}

function passedWords(passed) {
  return passed > 0 ? `${plural(passed, 'name was', 'names were')} passed over: too long, or the glob takes too much time.` : '';
}

function tickLocks() {
  for (const {tick} of ($('locks').tBodies[0].known || new Map()).values()) tick();
}
