// A sentence for each term: shown at an element with data-hint while the pointer or the focus is on
// it, and read out with it. One element says all of them.

const HINTS = {
  held: 'Locks that an owner holds now, in all databases.',
  waiting: 'Requests that wait in the server until a lock is free, first come first.',
  refused: 'Requests that limiters did not let through.',
  commands: 'Commands that clients sent, on average over the last seconds.',
  clients: 'Connections. A blocked one waits in a command: for a lock, a limit, a list.',
  memory: 'What the system has given to the server; data is what keys and all else take of it.',
  turn: 'A turn is one round of the loop: what clients have sent is run, then answered. 99 % of the turns of ten seconds took no longer.',
  late: 'How late a key went after its deadline: 99 % of those of ten seconds were no later.',
  lease: 'How long the lock is held if it is not renewed. The bar is what is left of the whole lease.',
  used: 'What of the limit is taken now. Whole: nothing is, so the limiter is no key until it is used again.',
  whole: 'When all of the limit can be had again, if nothing is taken meanwhile.',
  now: 'Refusals a second, since the answer before.',
  token: 'A fencing token: each grant has a larger one, so that a write with an old one can be refused.',
  mode: 'Exclusive: one owner. Shared: many readers. Permits: so many at once.',
  decisions: 'What limiters have decided since the start, or since CONFIG RESETSTAT.',
  slow: 'Commands that took longer than slowlog-log-slower-than.',
  wait: 'Answers that leave only when what they tell is on the disk.',
};

function term(words, hint) {
  return el('span', {class: 'term', tabindex: 0, 'data-hint': hint}, words);
}

function showHint(target) {
  const hint = $('hint');
  setText(hint, HINTS[target.dataset.hint] || '');
  (target.closest('dialog') || document.body).append(hint);
  show(hint, true);
  target.setAttribute('aria-describedby', 'hint');
  const at = target.getBoundingClientRect();
  const box = hint.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left), innerWidth - box.width - 8);
  const isBelow = at.bottom + box.height + 8 < innerHeight;
  hint.style.left = `${Math.max(8, left)}px`;
  hint.style.top = `${isBelow ? at.bottom + 6 : Math.max(8, at.top - box.height - 6)}px`;
}
function hideHint() {
  show($('hint'), false);
  for (const each of document.querySelectorAll('[aria-describedby="hint"]')) each.removeAttribute('aria-describedby');
}

function listenForHints() {
  const targetOf = (event) => (event.target instanceof Element ? event.target.closest('[data-hint]') : null);
  for (const [begin, end] of [['pointerover', 'pointerout'], ['focusin', 'focusout']]) {
    document.addEventListener(begin, (event) => targetOf(event) && showHint(targetOf(event)));
    document.addEventListener(end, (event) => targetOf(event) && hideHint());
  }
  document.addEventListener('scroll', hideHint, {capture: true, passive: true});
  document.addEventListener('keydown', (event) => event.key === 'Escape' && hideHint());
}
