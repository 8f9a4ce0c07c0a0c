// Names as the server gives them: any bytes, made visible there and cut. Here they become elements
// that hold their direction, show the blanks that a reader would not see, and tell what was cut off.

const UNSEEN = /\\\\|\\x[0-9a-f]{2}|\\u\{[0-9a-f]+\}|^ +| +$| {2,}/g;
const BLANK = '␣';

// Identity: the bytes themselves, or (long ones) what is known of them.
function idOf(name) {
  return name.id === undefined ? `${name.bytes}:${name.text}` : name.id;
}

function nameElement(name) {
  const holder = el('bdi', {class: 'name', dir: 'ltr'});
  const text = name.text === '' ? '(empty)' : name.text;
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    const [found] = match;
    if (found === '\\\\') continue;
    const isBlank = found[0] === ' ';
    holder.append(text.slice(from, match.index), el('span', {class: isBlank ? 'blank' : 'escape',
      title: isBlank ? plural(found.length, 'blank', 'blanks') : null}, found));
    from = match.index + found.length;
  }
  holder.append(text.slice(from));
  return holder;
}

// All of it, for a cell.
function nameParts(name) {
  const parts = [nameElement(name)];
  if (isCut(name)) parts.push(' ', el('span', {class: 'long'}, `… ${plural(name.bytes, 'byte', 'bytes')}`));
  return parts;
}
const SHOWN_MAX = 120;
function isCut(name) {
  return name.bytes > SHOWN_MAX && lengthOf(name.text) < name.bytes;
}
// Bytes that the shown text stands for, or a little less.
function lengthOf(text) {
  let length = 0;
  for (const piece of text.match(/\\\\|\\x[0-9a-f]{2}|\\u\{[0-9a-f]+\}|./gsu) || []) {
    if (piece.startsWith('\\u{')) {
      length += new TextEncoder().encode(String.fromCodePoint(parseInt(piece.slice(3), 16))).length;
    } else {
      length += piece.length > 1 && piece[0] === '\\' ? 1 : new TextEncoder().encode(piece).length;
    }
  }
  return length;
}

// In plain text, for labels, titles and the picture.
function nameText(name, most = 60) {
  const seen = name.text.replace(/^ +| +$| {2,}/g, (blanks) => BLANK.repeat(blanks.length));
  const characters = Array.from(seen === '' ? '(empty)' : seen);
  return characters.length > most || isCut(name) ? `${characters.slice(0, most).join('')}…` : characters.join('');
}

// A name that opens its panel; one without an id cannot be asked for.
function keyButton(db, name) {
  if (name.id === undefined) {
    return el('span', {title: 'too long to be asked for'}, ...nameParts(name));
  }
  const made = el('button', {type: 'button', class: 'link'}, ...nameParts(name));
  made.addEventListener('click', () => openPanel(db, name));
  return made;
}

function fromWords(who) {
  return [who.client, who.address].filter(Boolean).join(' at ');
}
// What a holder or a waiter says of itself: its label, the name of its client, where it comes from.
function fromParts(who) {
  const parts = [];
  if (who.label) parts.push(' ', el('span', {class: 'tag', title: 'LABEL'}, nameElement({text: who.label, bytes: 0})));
  const words = fromWords(who);
  if (words) parts.push(' ', el('span', {class: 'from'}, nameElement({text: words, bytes: 0})));
  return parts;
}
