// Who waits: the picture, and the same in a table.

// Of something that an answer told: how long ago the answer came is added.
function sinceAnswer(item, ms) {
  return ms + (performance.now() - item.answered);
}
function leftOf(item, ms) {
  return Math.max(0, ms - (performance.now() - item.answered));
}
function stamp(locks) {
  const now = performance.now();
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

function showWaits(answer) {
  const {locks} = answer;
  stamp(locks);
  show($('waits-none'), locks.length === 0);
  show($('waits-some'), locks.length > 0);
  setText($('waits-count'), locks.length > 0 ? plural(answer.waiting, 'request waits', 'requests wait') : '');
  waitTicks.graph = drawGraph($('graph'), locks);
  waitTicks.rows = [];
  syncRows($('waits').tBodies[0], locks, (lock) => idOf(lock.name), makeWaitRow);
  show($('waits-more'), answer.cursor !== '0');
  setText($('waits-more'), `More locks are waited for than the first ${count(locks.length)}: search for one.`);
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
  return el('li', {}, ...nameParts(holder.owner), words);
}

function waiterLine(wait) {
  const words = el('span', {class: 'soft'});
  const several = wait.names > 1 ? `, for ${wait.names} locks at once` : '';
  const tell = () => {
    setText(words, ` ${span(sinceAnswer(wait, wait.waited_ms))}, gives up in ${span(leftOf(wait, wait.left_ms))}${several}`);
  };
  tell();
  waitTicks.rows.push(tell);
  return el('li', {}, ...nameParts(wait.owner), words);
}
