// Log and snapshots, as facts.

const DISK = [
  ['Log', (all) => (all.log.on ? `on, appendfsync ${all.log.policy}` : 'off (appendonly no)')],
  ['Its size', (all) => (all.log.on ? bytes(all.log.bytes) : null)],
  ['Waits for the disk', (all) => (all.log.on ? `${bytes(all.log.lag_bytes)}, ${plural(all.log.held_answers, 'answer', 'answers')}` : null)],
  ['A sync takes', (all) => (all.log.sync_us.count > 0 ? `${micros(all.log.sync_us.p50)}; 99 %: ${micros(all.log.sync_us.p99)}` : null)],
  ['Fault', (all) => all.log.fault || null],
  ['Failed syncs', (all) => (all.log.failed_syncs > 0 ? count(all.log.failed_syncs) : null)],
  ['Written anew', (all) => (all.log.rewriting ? 'now' : all.log.rewrites > 0 ? plural(all.log.rewrites, 'time', 'times') : null)],
  ['Snapshots', (all) => (all.snapshots.running
    ? `one is written: ${count(all.snapshots.keys_done)} of ${count(all.snapshots.keys_in_all)} keys`
    : all.snapshots.on ? 'on' : 'off (save is empty)')],
  ['The last one', (all) => (all.snapshots.failed ? 'failed'
    : all.snapshots.saves > 0 ? `${span(all.unix_ms - 1000 * all.snapshots.saved_unix_s)} ago, took ${span(1000 * Math.max(0, all.snapshots.took_s))}` : null)],
  ['Changes since', (all) => count(all.snapshots.changes)],
];

function showDisk(all) {
  const words = DISK.map(([word, tell]) => [word, tell(all)]).filter(([, told]) => told !== null);
  const list = $('disk');
  const signature = words.map(([word]) => word).join();
  if (list.signature !== signature) {
    list.signature = signature;
    list.replaceChildren(...words.flatMap(([word]) => [el('dt', {}, word === 'Waits for the disk' ? term(word, 'wait') : word), el('dd')]));
  }
  words.forEach(([, told], at) => setText(list.children[2 * at + 1], told));
}
