// One key, looked at each second: a limiter as a chamber that fills, a lock with all its holders and
// waiters.

const PANEL_EVERY_MS = 1000;
const STRIP_PLACES = 90;
const panel = {db: 0, name: null, timer: 0, levels: [], ticks: []};

function openPanel(db, name) {
  Object.assign(panel, {db, name, levels: [], ticks: [], shape: ''});
  $('panel-title').replaceChildren(...nameParts(name));
  $('panel-body').replaceChildren(el('p', {class: 'soft'}, 'Asking …'));
  $('panel').showModal();
  askPanel();
}

async function askPanel() {
  clearTimeout(panel.timer);
  const {db, name} = panel;
  if (!$('panel').open) return;
  if (!document.hidden) {
    try {
      const answer = await ask('/api/key', {db, key: name.id});
      if (panel.name !== name || !$('panel').open) return;
      showKey(answer);
    } catch (fault) {
      if (panel.name !== name) return;
      panel.shape = '';
      $('panel-body').replaceChildren(el('p', {class: 'none'}, `Not known: ${faultWords(fault)}`));
    }
  }
  panel.timer = setTimeout(askPanel, PANEL_EVERY_MS);
}

// The frame of a key of one kind is made once, and filled from then on.
function showKey(answer) {
  if (answer.lock) stamp([answer.lock]);
  const kind = answer.limiter ? 'limiter' : answer.bucket ? 'bucket' : answer.lock ? 'lock' : 'key';
  const isHeld = kind === 'lock' && !isEnded(answer.lock);
  const shape = `${kind} ${answer.type} ${overview.actions} ${isHeld}`;
  if (panel.shape !== shape) {
    panel.shape = shape;
    const had = $('panel-body').contains(document.activeElement);
    panel.show = PANELS[kind](answer);
    if (had) $('panel-close').focus();
  }
  panel.show(answer);
}

const FACT_HINTS = {'Whole again': 'whole', 'Newest token': 'token', 'Mode': 'mode'};

function facts(rows) {
  const list = el('dl');
  const places = rows.map(([word]) => {
    const place = el('dd');
    list.append(el('dt', {}, FACT_HINTS[word] ? term(word, FACT_HINTS[word]) : word), place);
    return place;
  });
  const update = (answer) => rows.forEach(([, tell], at) => setText(places[at], tell(answer)));
  return {list, update};
}

const COMMON = [
  ['Type', (answer) => (answer.type === 'none' ? 'there is no such key' : answer.type)],
  ['Time left', (answer) => (answer.ttl_ms < 0 ? 'no deadline' : span(answer.ttl_ms))],
];

function actionsOf(answer, isLock) {
  if (overview.actions !== 'on') return '';
  const {db, name} = panel;
  const line = el('div', {class: 'pages'});
  if (isLock) line.append(button('Break the lock', {class: 'danger'}, () => breakLock(db, name)));
  if (answer.type !== 'none') line.append(button('Delete the key', {class: 'danger'}, () => deleteKey(db, name)));
  return line;
}

const PANELS = {
  key(answer) {
    const {list, update} = facts(COMMON);
    $('panel-body').replaceChildren(list, actionsOf(answer, false));
    return update;
  },

  limiter(answer) {
    const tank = new Tank();
    const {list, update} = facts([
      ['Algorithm', (now) => now.limiter.algorithm],
      ['Limit', (now) => `${count(now.limiter.max)} in ${span(now.limiter.period_ms)}`],
      ['Whole again', (now) => (now.limiter.whole_in_ms > 0 ? `in ${span(now.limiter.whole_in_ms)}` : 'now')],
      ['Waited for', (now) => (now.limiter.is_waited_for ? 'yes' : 'no')],
    ]);
    $('panel-body').replaceChildren(tank.element, tank.strip.element, list, actionsOf(answer, false));
    return (now) => {
      update(now);
      const {used, capacity, remaining} = now.limiter;
      tank.set(used, capacity, `${count(used)} of ${count(capacity)} used`, `${count(remaining)} left`);
    };
  },

  bucket(answer) {
    const tank = new Tank();
    const {list, update} = facts([['Empty', (now) => `in ${span(now.bucket.empty_in_ms)}`]]);
    $('panel-body').replaceChildren(tank.element, tank.strip.element, list, actionsOf(answer, false));
    let most = 1;
    return (now) => {
      update(now);
      most = Math.max(most, now.bucket.level);
      tank.set(now.bucket.level, most, count(now.bucket.level), `in the bucket; ${count(most)} at most since you look`);
    };
  },

  lock(answer) {
    const {list, update} = facts([
      ['Mode', (now) => modeWords(now.lock)],
      ['Newest token', (now) => String(now.lock.token || '')],
    ]);
    const held = el('ul', {class: 'plain'});
    const queue = el('ol', {class: 'queue'});
    $('panel-body').replaceChildren(list, el('h3', {}, 'Held by'), held, el('h3', {}, 'Waiting'), queue,
      actionsOf(answer, !isEnded(answer.lock)));
    return (now) => {
      update(now);
      const before = waitTicks.rows;  // the lines tick in a list of their own
      waitTicks.rows = [];
      held.replaceChildren(...now.lock.holders.map(holderLine));
      if (now.lock.holders.length === 0) held.append(el('li', {class: 'none'}, 'nobody'));
      if (now.lock.more_holders > 0) held.append(el('li', {class: 'soft'}, `and ${count(now.lock.more_holders)} more`));
      queue.replaceChildren(...(now.lock.queue || []).map(waiterLine));
      if (!now.lock.queue) queue.replaceChildren(el('p', {class: 'none'}, 'nobody'));
      if (now.lock.more_waiters > 0) queue.append(el('p', {class: 'soft'}, `and ${count(now.lock.more_waiters)} more`));
      panel.ticks = waitTicks.rows;
      waitTicks.rows = before;
    };
  },
};

// A chamber with water in it, and how high it stood since it is looked at.
class Tank {
  constructor() {
    this.water = svg('g', {class: 'water'},
      svg('rect', {class: 'fill', x: 6, y: 0, width: 88, height: 140}),
      svg('rect', {class: 'surface', x: 6, y: 0, width: 88, height: 5}));
    const clip = svg('clipPath', {id: 'tank-inside'}, svg('rect', {x: 6, y: 10, width: 88, height: 104, rx: 4}));
    this.picture = svg('svg', {viewBox: '0 0 100 120', role: 'meter', 'aria-label': 'Used'}, svg('defs', {}, clip),
      svg('rect', {class: 'wall', x: 4, y: 4, width: 92, height: 112, rx: 7}),
      svg('g', {'clip-path': 'url(#tank-inside)'}, this.water),
      svg('line', {class: 'line', x1: 4, x2: 96, y1: 14, y2: 14}));
    this.big = el('strong');
    this.small = el('span', {class: 'soft'});
    this.element = el('div', {class: 'tank'}, this.picture, el('div', {}, this.big, this.small));
    this.strip = new Plot('Used', short);
    this.strip.element.classList.add('strip');
    this.levels = [];
    this.times = [];
  }
  set(level, most, big, small) {
    const share = Math.min(1, level / most);
    this.water.style.transform = `translateY(${(114 - share * 100).toFixed(1)}px)`;
    this.element.classList.toggle('over', level >= most);
    this.picture.setAttribute('aria-valuemin', 0);
    this.picture.setAttribute('aria-valuemax', most);
    this.picture.setAttribute('aria-valuenow', level);
    this.picture.setAttribute('aria-valuetext', big);
    setText(this.big, big);
    setText(this.small, small);
    this.levels = this.levels.concat(level).slice(-STRIP_PLACES);
    this.times = this.times.concat(Date.now() / 1000).slice(-STRIP_PLACES);
    this.strip.draw(this.levels, this.times);
  }
}
