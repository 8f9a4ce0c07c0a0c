// The slow log.

function showSlow(answer) {
  const {slow} = answer;
  setText($('slow-none'), answer.from_us < 0 ? 'It is off (slowlog-log-slower-than is negative).' : 'No command was slow.');
  show($('slow'), slow.length > 0);
  show($('slow-none'), slow.length === 0);
  show($('slow-scroll'), slow.length > 0);
  const from = answer.from_us < 0 ? 'off' : `from ${micros(answer.from_us)} on`;
  setText($('slow-count'), answer.entries > slow.length ? `${from}, ${count(slow.length)} of ${count(answer.entries)}` : from);
  const now = Date.now() / 1000;
  syncRows($('slow').tBodies[0], slow, (entry) => entry.id, (entry) => {
    const words = entry.words.flatMap((word) => [nameElement({text: word, bytes: 0}), ' ']);
    if (entry.more_words > 0) words.push(el('span', {class: 'long'}, `and ${plural(entry.more_words, 'word', 'words')}`));
    const client = entry.name ? `${entry.client}, ${entry.name}` : entry.client;
    const ago = el('td', {class: 'number', title: client});
    const row = el('tr', {}, el('td', {class: 'number'}, micros(entry.us)), el('td', {}, ...words), ago);
    return {row, update: () => setText(ago, span(1000 * Math.max(0, Math.round(now - entry.unix_s))).replace('.0 s', ' s'))};
  });
}
function forgetSlow(words) {
  show($('slow'), false);
  show($('slow-scroll'), false);
  show($('slow-none'), true);
  setText($('slow-none'), words);
  setText($('slow-count'), '');
}
