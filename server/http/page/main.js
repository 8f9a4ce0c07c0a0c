// The round: the server is asked every two seconds while the page can be seen, plots and the slow log
// every ten. In between leases run down by the browser's own clock.

const EVERY_MS = 2000;
const RARELY_MS = 10000;
const MOTION_TICK_MS = 250;
const CALM_TICK_MS = 1000;

let overview = {actions: 'off'};
const chosen = {db: 0, words: '', match: '', keys: '', type: ''};
const round = {timer: 0, number: 0, rarely: -Infinity, isPaused: false, isGone: false, goneAt: 0, fault: '', answered: 0};

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
  return 'the server does not answer';
}

// --- what is shown

function showOverview(all) {
  overview = all;
  const state = $('state');
  const word = all.busy ? 'busy' : all.ready ? 'ready' : 'not ready';
  setText(state, word);
  state.className = `pill ${all.ready && !all.busy ? 'good' : 'warn'}`;
  setText($('about'), `${all.version}, up ${span(1000 * all.uptime_s).replace(/\.\d s/, ' s')}`);
  setText($('server-name'), all.name);
  show($('server-name'), all.name !== '');
  setText($('place'), placeWords(all));
  showTitle();
  showTiles(all);
  showLockWaits(all.lock_waits);
  showDisk(all);
  showDatabases(all.databases);
}

// Where clients find it. Without a port it is a Unix socket's, or the host program's.
function placeWords(all) {
  return all.port > 0 ? `${all.host || 'localhost'}:${all.port}` : all.host;
}
function showTitle() {
  const name = [overview.name, overview.host === undefined ? '' : placeWords(overview)].filter(Boolean).join(' ');
  const waiting = overview.locks && overview.locks.waiting > 0 ? `(${short(overview.locks.waiting)}) ` : '';
  document.title = `${round.isGone ? 'No answer: ' : waiting}${name ? `${name} – ` : ''}Sluice`;
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

// What each part asks, shows, and shows where it is refused: what is not known is not empty.
const PARTS = [
  {path: '/api/overview', show: showOverview, forget: () => {}},
  {path: '/api/waits', words: () => ({db: chosen.db, match: chosen.match, cursor: waitPages.start, rows: rowsOf(WAITS_WIDE, WAITS_NARROW)}),
    show: showWaits, forget: forgetWaits},
  {ask: askLocks, show: showLocks, forget: forgetLocks},
  {path: '/api/limits', show: showLimits, forget: forgetLimits},
  {path: '/api/history', words: () => ({cursor: hour.cursor}), show: takeHistory, forget: () => {}, isRare: true},
  {path: '/api/slowlog', show: showSlow, forget: forgetSlow, isRare: true},
];

class Gone extends Error {}

// What a part has answered, or its refusal. Gone: nothing has.
async function askPart(part) {
  try {
    return {part, answer: await (part.ask ? part.ask() : ask(part.path, part.words && part.words()))};
  } catch (fault) {
    if (!(fault instanceof Refused)) throw new Gone();
    return {part, fault};
  }
}

// All is shown at once, with the newest of each count in each place.
async function askAll(number) {
  const isRare = performance.now() - round.rarely >= RARELY_MS;
  const all = [];
  for (const part of PARTS) {
    if (part.isRare && !isRare) continue;
    all.push(await askPart(part));
    if (round.number !== number) return;
  }
  setGone(false);
  round.answered = performance.now();
  agree(all);
  for (const {part, answer, fault} of all) {
    if (fault) part.forget(`Not known: ${faultWords(fault)}`);
    else part.show(answer);
  }
  if (isRare) {
    if (!all.some(({part, fault}) => part.isRare && fault)) round.rarely = performance.now();
    showTiles(overview);
  }
  const faults = [...new Set(all.filter(({fault}) => fault).map(({fault}) => faultWords(fault)))];
  const reasons = overview.reasons || [];
  const words = faults.length > 0 ? faults.join(' ') : reasons.length > 0 ? `Not ready: ${reasons.join('; ')}.` : '';
  if (words !== round.fault) banner(words);
}

// Answers of one round are of moments that differ: a count that two of them tell is that of the later.
function agree(all) {
  const answerOf = (path) => (all.find(({part, answer}) => answer && (part.path || '/api/locks') === path) || {}).answer;
  const [figures, waits, locks] = ['/api/overview', '/api/waits', '/api/locks'].map(answerOf);
  if (figures && waits) figures.locks.waiting = waits.waiting;
  if (figures && locks) figures.locks.held = locks.held;
}

// While nothing answers what was seen last stays, faint, and stands still.
function setGone(isGone) {
  if (isGone === round.isGone) return;
  round.isGone = isGone;
  round.goneAt = performance.now();
  document.body.classList.toggle('gone', isGone);
  if (isGone) {
    setText($('state'), 'no answer');
    $('state').className = 'pill bad';
    banner('The server does not answer: what is shown is what was known last.');
  }
  showTitle();
}
// The browser's clock, which stands still while the server is gone.
function timeNow() {
  return round.isGone ? round.goneAt : performance.now();
}

async function goRound() {
  clearTimeout(round.timer);
  if (round.isPaused || document.hidden) return;
  const number = round.number += 1;
  try {
    await askAll(number);
  } catch (fault) {
    if (round.number !== number) return;
    if (!(fault instanceof Gone)) throw fault;
    setGone(true);
  }
  if (round.number === number) round.timer = setTimeout(goRound, EVERY_MS);
}
function refresh() {
  goRound();
}

function tick() {
  if (document.hidden || round.isPaused) return;
  if (!round.isGone) {
    tickLocks();
    for (const each of waitTicks.graph.concat(waitTicks.rows, panel.ticks)) each();
  }
  if (!(round.toastUntil > performance.now())) {
    setText($('fresh'), round.answered > 0 ? `As of ${span(performance.now() - round.answered).replace(/\.\d s/, ' s')} ago` : '');
  }
}

// --- what is chosen, which the address tells, too

const TYPES = ['limiter', 'leakybucket', 'lock', 'string', 'hash', 'list', 'set', 'zset', 'stream'];

// A word without a star is looked for anywhere in a name.
function globOf(text) {
  const words = text.trim();
  return words === '' ? '' : /[*?[\\]/.test(words) ? words : `*${words}*`;
}

function addressOf({words, db, keys}) {
  const said = new URLSearchParams();
  if (words !== '') said.set('search', words);
  if (db !== 0) said.set('db', db);
  if (keys !== '') said.set('keys', keys);
  const text = said.toString();
  return location.pathname + (text && `?${text}`);
}
function readAddress() {
  const said = new URLSearchParams(location.search);
  const db = Number(said.get('db') || 0);
  const keys = said.get('keys') || '';
  return {
    words: (said.get('search') || '').slice(0, $('match').maxLength), db: Number.isSafeInteger(db) && db >= 0 ? db : 0,
    keys: keys === 'all' || TYPES.includes(keys) ? keys : '',
  };
}

// `keys`: a type, 'all', or empty: those that match a search, none without one.
function choose(wanted, isFromAddress = false) {
  const other = {words: chosen.words, db: chosen.db, keys: chosen.keys, ...wanted};
  if (!isFromAddress && addressOf(other) !== location.pathname + location.search) history.pushState(null, '', addressOf(other));
  const isOtherDb = other.db !== chosen.db;
  Object.assign(chosen, other, {match: globOf(other.words), type: other.keys === 'all' ? '' : other.keys});
  $('match').value = other.words;
  $('keys-type').value = chosen.type;
  if ([...$('db').options].some(({value}) => value === String(chosen.db))) $('db').value = String(chosen.db);
  if (isOtherDb) for (const table of ['waits', 'locks', 'limits', 'keys']) syncRows($(table).tBodies[0], [], () => '', () => null);
  lockPages.begin();
  waitPages.begin();
  refresh();
  if (chosen.match === '' && chosen.keys === '') forgetKeys();
  else findKeys();
}

function pause(isPaused) {
  round.isPaused = isPaused;
  $('pause').setAttribute('aria-pressed', String(isPaused));
  setText($('pause'), isPaused ? 'Go on' : 'Pause');
  if (!isPaused) refresh();
}

function listenToSearch() {
  $('search').addEventListener('submit', (event) => {
    event.preventDefault();
    choose({words: $('match').value});
    window.scrollTo(0, 0);
  });
  $('match').addEventListener('search', () => {
    if ($('match').value === '' && chosen.words !== '') choose({words: ''});
  });
  $('db').addEventListener('change', () => choose({db: Number($('db').value), words: $('match').value}));
  $('keys-type').addEventListener('change', () => choose({keys: $('keys-type').value || 'all'}));
  $('keys-close').addEventListener('click', () => {
    choose({words: '', keys: ''});
    $('match').focus();
  });
  $('limits-all').addEventListener('click', () => {
    choose({words: '', keys: 'limiter'});
    $('keys-title').focus();
    $('keys-card').scrollIntoView({block: 'start'});
  });
  window.addEventListener('popstate', () => choose(readAddress(), true));
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea');
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    $('match').focus();
    $('match').select();
  });
}

function listen() {
  listenToSearch();
  listenForHints();
  for (const pages of [lockPages, waitPages, keyPages, limitPages, decisionPages]) pages.listen();
  $('pause').addEventListener('click', () => pause(!round.isPaused));
  $('panel-close').addEventListener('click', () => $('panel').close());
  $('panel').addEventListener('close', () => {
    panel.ticks = [];
    clearTimeout(panel.timer);
  });
  $('graph').addEventListener('scroll', showWhereItGoesOn, {passive: true});
  window.addEventListener('resize', drawWaits);
  NARROW.addEventListener('change', () => choose({}, true));
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) refresh();
    else clearTimeout(round.timer);
  });
}

const isCalm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
makeTiles();
makeConfirm();
listen();
choose(readAddress(), true);
setInterval(tick, isCalm ? CALM_TICK_MS : MOTION_TICK_MS);
