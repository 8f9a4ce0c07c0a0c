// Who waits: the picture, and the same in a table.

// Of something that an answer told: how long ago the answer came is added. Time stands still while
// the server is gone.
function sinceAnswer(item, ms) {
  return ms + (timeNow() - item.answered);
}
function leftOf(item, ms) {
  return Math.max(0, ms - (timeNow() - item.answered));
}
function stamp(locks) {
  const now = timeNow();
  for (const lock of locks) {
    for (const each of [lock, ...lock.holders, ...(lock.queue || [])]) each.answered = now;
  }
}

function modeWords(lock) {
  return lock.mode === 'permits' ? `${lock.permits} permits` : lock.mode;
}
function leaseWords(holder) {
  if (holder.holds === 0) return 'given back, kept for a while';
  if (holder.lease_ms < 0) return 'as long as its session';
  const left = leftOf(holder, holder.lease_ms);
  return left > 0 ? `${span(left)} left` : 'lease is over';
}

const waitTicks = {graph: [], rows: []};
const waitPages = new Pages('waits', refresh);
const WAITS_WIDE = 15;
const WAITS_NARROW = 5;
let waitsShown = [];

function showWaits(answer) {
  const {locks} = answer;
  stamp(locks);
  waitsShown = locks;
  show($('waits-none'), locks.length === 0);
  show($('waits-some'), locks.length > 0);
  const isPart = chosen.match !== '' || chosen.db !== 0 || answer.cursor !== '0' || waitPages.at > 0;
  const shown = locks.reduce((sum, lock) => sum + lock.queue.length + lock.more_waiters, 0);
  const all = plural(answer.waiting, 'request waits', 'requests wait');
  setText($('waits-count'), answer.waiting === 0 ? '' : isPart && shown < answer.waiting ? `${all}, ${count(shown)} of them for what is shown` : all);
  setText($('waits-none'), answer.cursor !== '0' ? 'None so far; not all were looked at.'
    : answer.waiting > 0 ? `No request waits for ${chosen.match ? 'a lock with such a name' : 'a lock of this database'}.` : 'No request waits for a lock.');
  drawWaits();
  waitTicks.rows = [];
  syncRows($('waits').tBodies[0], locks, (lock) => idOf(lock.name), makeWaitRow);
  waitPages.show(answer.cursor === '0' ? null : answer.cursor);
}
function drawWaits() {
  waitTicks.graph = drawGraph($('graph'), waitsShown);
}
function forgetWaits(words) {
  waitsShown = [];
  waitTicks.graph = [];
  waitTicks.rows = [];
  $('graph').replaceChildren();
  syncRows($('waits').tBodies[0], [], () => '', () => null);
  show($('waits-some'), false);
  show($('waits-none'), true);
  setText($('waits-none'), words);
  setText($('waits-count'), '');
}

function makeWaitRow(lock) {
  const held = el('ul', {class: 'plain'});
  const queue = el('ol', {class: 'queue'});
  const more = el('p', {class: 'soft'});
  const row = el('tr', {}, el('th', {scope: 'row', class: 'first'}, keyButton(chosen.db, lock.name)),
    el('td', {class: 'wide', 'data-label': 'Held by'}, held), el('td', {class: 'wide', 'data-label': 'Waiting'}, queue, more));
  const update = (item) => {
    held.replaceChildren(...item.holders.map((holder) => holderLine(holder)));
    if (item.holders.length === 0) held.append(el('li', {class: 'soft'}, item.mode === 'free' ? 'nobody' : item.mode));
    if (item.more_holders > 0) held.append(el('li', {class: 'soft'}, `and ${count(item.more_holders)} more`));
    queue.replaceChildren(...item.queue.map((wait) => waiterLine(wait)));
    setText(more, item.more_waiters > 0 ? `and ${count(item.more_waiters)} more` : '');
  };
  return {row, update};
}

function holderLine(holder) {
  const words = el('span', {class: 'soft'});
  const tell = () => setText(words, ` ${leaseWords(holder)}`);
  tell();
  waitTicks.rows.push(tell);
  return el('li', {}, ...nameParts(holder.owner), words, ...fromParts(holder));
}

function waiterLine(wait) {
  const words = el('span', {class: 'soft'});
  const several = wait.names > 1 ? `, for ${wait.names} locks at once` : '';
  const tell = () => {
    setText(words, ` ${span(sinceAnswer(wait, wait.waited_ms))}, gives up in ${span(leftOf(wait, wait.left_ms))}${several}`);
  };
  tell();
  waitTicks.rows.push(tell);
  return el('li', {}, ...nameParts(wait.owner), words, ...fromParts(wait));
}
