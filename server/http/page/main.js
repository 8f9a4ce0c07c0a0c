// The round: the server is asked every two seconds while the page can be seen, plots and the slow log
// every ten. In between leases run down by the browser's own clock.

const EVERY_MS = 2000;
const RARELY_MS = 10000;
const MOTION_TICK_MS = 250;
const CALM_TICK_MS = 1000;

let overview = {actions: 'off'};
const chosen = {db: 0, match: ''};
const round = {timer: 0, number: 0, rarely: -Infinity, isPaused: false, isAsking: false, fault: '', answered: 0};

// --- what is told

function say(words, isFault) {
  setText($('said'), '');
  setText($('said'), words);
  if (isFault) banner(words);
  else toast(words);
}
function banner(words) {
  round.fault = words;
  setText($('banner'), words);
  show($('banner'), words !== '');
}
function toast(words) {
  setText($('fresh'), words);
  round.toastUntil = performance.now() + 6000;
}
function faultWords(fault) {
  if (fault instanceof Refused) return fault.message || `refused (${fault.status})`;
  return 'The server does not answer.';
}

// --- what is shown

function showOverview(all) {
  overview = all;
  const state = $('state');
  const word = all.busy ? 'busy' : all.ready ? 'ready' : 'not ready';
  setText(state, word);
  state.className = `pill ${all.ready && !all.busy ? 'good' : 'warn'}`;
  setText($('about'), `${all.version}, up ${span(1000 * all.uptime_s).replace(/\.\d s/, ' s')}`);
  document.title = `${all.locks.waiting > 0 ? `(${short(all.locks.waiting)}) ` : ''}Sluice`;
  showTiles(all);
  showDisk(all);
  showDatabases(all.databases);
}

function showDatabases(databases) {
  const signature = databases.map(({db}) => db).join();
  const list = $('db');
  show($('db-label'), databases.length > 1 || chosen.db !== 0);
  if (list.signature !== signature) {
    list.signature = signature;
    const numbers = new Set([0, chosen.db, ...databases.map(({db}) => db)]);
    list.replaceChildren(...[...numbers].sort((a, b) => a - b).map((db) => el('option', {value: db}, String(db))));
    list.value = String(chosen.db);
  }
}

// --- the round

// What each part asks; a part that is refused says so in one line, and the others go on.
const PARTS = [
  {path: '/api/overview', show: showOverview},
  {path: '/api/waits', words: () => ({db: chosen.db, match: chosen.match}), show: showWaits},
  {path: '/api/locks', words: () => ({db: chosen.db, match: chosen.match, cursor: lockPage.cursor}), show: showLocks},
  {path: '/api/limits', show: showLimits},
  {path: '/api/history', words: () => ({cursor: hour.cursor}), show: takeHistory, isRare: true},
  {path: '/api/slowlog', show: showSlow, isRare: true},
];

async function askAll(number) {
  const isRare = performance.now() - round.rarely >= RARELY_MS;
  const faults = new Set();
  for (const part of PARTS) {
    if (part.isRare && !isRare) continue;
    try {
      const answer = await ask(part.path, part.words && part.words());
      if (round.number !== number) return;
      part.show(answer);
    } catch (fault) {
      if (round.number !== number) return;
      faults.add(faultWords(fault));
      if (!(fault instanceof Refused)) break;
    }
  }
  if (isRare && faults.size === 0) {
    round.rarely = performance.now();
    showTiles(overview);
  }
  const reasons = overview.reasons || [];
  const words = faults.size > 0 ? [...faults].join(' ') : reasons.length > 0 ? `Not ready: ${reasons.join('; ')}.` : '';
  if (words !== round.fault) banner(words);
  if (faults.has('The server does not answer.')) {
    setText($('state'), 'no answer');
    $('state').className = 'pill bad';
  } else {
    round.answered = performance.now();
  }
}

async function goRound() {
  clearTimeout(round.timer);
  if (round.isPaused || document.hidden) return;
  const number = round.number += 1;
  await askAll(number);
  if (round.number === number) round.timer = setTimeout(goRound, EVERY_MS);
}
function refresh() {
  goRound();
}

function tick() {
  if (!document.hidden && !round.isPaused) {
    tickLocks();
    for (const each of waitTicks.graph.concat(waitTicks.rows, panel.ticks)) each();
    if (!(round.toastUntil > performance.now())) {
      setText($('fresh'), round.answered > 0 ? `As of ${span(performance.now() - round.answered).replace(/\.\d s/, ' s')} ago` : '');
    }
  }
}

// --- what is chosen

// A word without a star is looked for anywhere in a name.
function choose(words) {
  const text = words.trim();
  chosen.match = text === '' ? '' : /[*?[\\]/.test(text) ? text : `*${text}*`;
  lockPage.cursor = '0';
  refresh();
  if (text === '') forgetKeys();
  else findKeys(false);
}

function turnPage(cursor) {
  lockPage.cursor = cursor;
  refresh();
}

function pause(isPaused) {
  round.isPaused = isPaused;
  $('pause').setAttribute('aria-pressed', String(isPaused));
  setText($('pause'), isPaused ? 'Go on' : 'Pause');
  if (!isPaused) refresh();
}

function listen() {
  $('search').addEventListener('submit', (event) => {
    event.preventDefault();
    choose($('match').value);
  });
  $('match').addEventListener('search', () => {
    if ($('match').value === '') choose('');
  });
  $('db').addEventListener('change', () => {
    chosen.db = Number($('db').value);
    for (const table of ['waits', 'locks', 'limits', 'keys']) syncRows($(table).tBodies[0], [], () => '', () => null);
    choose($('match').value);
  });
  $('pause').addEventListener('click', () => pause(!round.isPaused));
  $('locks-first').addEventListener('click', () => turnPage('0'));
  $('locks-next').addEventListener('click', () => turnPage(lockPage.next));
  $('keys-more').addEventListener('click', () => findKeys(true));
  $('keys-type').addEventListener('change', () => findKeys(false));
  $('panel-close').addEventListener('click', () => $('panel').close());
  $('panel').addEventListener('close', () => {
    panel.ticks = [];
    clearTimeout(panel.timer);
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) refresh();
    else clearTimeout(round.timer);
  });
}

const isCalm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
makeTiles();
makeConfirm();
listen();
goRound();
setInterval(tick, isCalm ? CALM_TICK_MS : MOTION_TICK_MS);
