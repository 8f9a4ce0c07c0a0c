// Names as the server gives them: any bytes, made visible there and cut. Here they become elements
// that hold their direction, and tell what was cut off.

const ESCAPES = /\\\\|\\x[0-9a-f]{2}|\\u\{[0-9a-f]+\}/g;

// Identity: the bytes themselves, or (long ones) what is known of them.
function idOf(name) {
  return name.id === undefined ? `${name.bytes}:${name.text}` : name.id;
}

function nameElement(name) {
  const holder = el('bdi', {class: 'name', dir: 'ltr'});
  const text = name.text === '' ? '(empty)' : name.text;
  let from = 0;
  for (const match of text.matchAll(ESCAPES)) {
    if (match[0] === '\\\\') continue;
    holder.append(text.slice(from, match.index), el('span', {class: 'escape'}, match[0]));
    from = match.index + match[0].length;
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

// In plain text, for labels and titles.
function nameText(name, most = 60) {
  const characters = Array.from(name.text === '' ? '(empty)' : name.text);
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
