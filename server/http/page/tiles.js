// The figures at the top: what is now, and a plot of the last hour. A tile is a row here.

const LATE_MS = 100;  // of expiry: the tile says so
const TURN_US = 5000;

const TILES = [
  {name: 'Locks held', hint: 'held', column: 'locks', figure: short, now: (all) => all.locks.held,
    more: (all) => `${short(all.locks.granted)} granted`},
  {name: 'Waiting', hint: 'waiting', column: 'waiters', figure: short, now: (all) => all.locks.waiting,
    more: (all) => (all.hand_over_us.count > 0 ? `handed on in ${micros(all.hand_over_us.p99)}` : 'none handed on yet')},
  {name: 'Refused', hint: 'refused', unit: '/s', column: 'refused', figure: short, latest: true,
    more: (all) => `${short(all.limits.taken)} let through`},
  {name: 'Commands', hint: 'commands', unit: '/s', column: 'commands', figure: short, now: (all) => all.commands_per_s,
    more: (all) => `${short(all.expired)} keys expired`},
  {name: 'Clients', hint: 'clients', column: 'clients', figure: short, now: (all) => all.clients,
    more: (all) => `${short(all.blocked)} blocked`},
  {name: 'Memory', hint: 'memory', column: 'memory', figure: bytes, now: (all) => all.memory.resident,
    more: (all) => `data ${bytes(all.memory.used)}`},
  {name: 'Turn, 99 %', hint: 'turn', column: 'turn_us', figure: micros, latest: true, alarm: (value) => value > TURN_US,
    more: (all) => `longest ${micros(all.turn_us.most)}`},
  {name: 'Late expiry, 99 %', hint: 'late', column: 'late_ms', figure: (ms) => `${count(ms)} ms`, latest: true,
    alarm: (value) => value > LATE_MS, more: (all) => `worst ${count(all.late_ms.most)} ms`},
];

const hour = {cursor: '0', columns: {}};

function makeTiles() {
  for (const tile of TILES) {
    tile.value = el('span');
    tile.small = el('p', {class: 'more'});
    tile.plot = new Plot(tile.name, tile.figure);
    tile.box = el('article', {class: 'tile'}, el('h2', {}, term(tile.name, tile.hint)),
      el('p', {class: 'now'}, tile.value, tile.unit ? el('small', {}, tile.unit) : ''), tile.small,
      tile.plot.element);
    $('tiles').append(tile.box);
  }
}

function latestOf(column) {
  const values = hour.columns[column] || [];
  return values.length > 0 ? values[values.length - 1] : 0;
}

function showTiles(all) {
  for (const tile of TILES) {
    const value = tile.latest ? latestOf(tile.column) : tile.now(all);
    setText(tile.value, tile.figure(value));
    setText(tile.small, tile.more(all));
    tile.box.classList.toggle('alarm', Boolean(tile.alarm && tile.alarm(value)));
  }
}

// Only what is new is asked for; the oldest leave.
function takeHistory(answer) {
  const {every_s: every, samples_max: places, cursor, ...columns} = answer;
  hour.cursor = cursor;
  for (const [name, values] of Object.entries(columns)) {
    hour.columns[name] = (hour.columns[name] || []).concat(values).slice(-places);
  }
  for (const tile of TILES) {
    tile.plot.draw(hour.columns[tile.column] || [], hour.columns.unix_s || []);
  }
}
