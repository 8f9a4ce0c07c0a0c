'use strict';
// Elements made by hand: texts go in as texts, so that no name of a key is ever taken for HTML.
//
//   el('td', {class: 'number'}, '17')
//   svg('rect', {width: 3})

const $ = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}
function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}
function svg(tag, attributes, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}
function button(text, attributes, pressed) {
  const made = el('button', {type: 'button', ...attributes}, text);
  made.addEventListener('click', () => pressed(made));
  return made;
}

// A text node, or element, that is touched only if it changes: so nothing is read out, or laid out,
// for nothing.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
function show(element, shown) {
  element.hidden = !shown;
}

// Whatever `change` does to the children of an element, the focus is not lost: it stays where it was,
// or goes to what stands there now, or to the heading.
function keepFocus(body, change) {
  const had = document.activeElement;
  if (!body.contains(had)) return change();
  const place = [...body.children].findIndex((child) => child.contains(had));
  const kind = had.classList.contains('danger') ? '.danger' : 'button';
  change();
  if (document.activeElement === had) return undefined;
  const row = body.children[Math.min(place, body.children.length - 1)];
  const heading = body.closest('section, dialog').querySelector('h2');
  const next = body.contains(had) ? had : (row && (row.querySelector(kind) || row.querySelector('button'))) || heading;
  if (next === heading) heading.tabIndex = -1;
  return next.focus({preventScroll: true});
}

// Rows of a table as the items say, in their order. A row that is there stays the same element, so
// that what has the focus, or runs down, goes on. `make(item)` answers {row, update}.
function syncRows(body, items, keyOf, make) {
  keepFocus(body, () => syncRowsOnly(body, items, keyOf, make));
}
function syncRowsOnly(body, items, keyOf, make) {
  const known = body.known || (body.known = new Map());
  const seen = new Set();
  let at = body.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    if (seen.has(key)) continue;
    seen.add(key);
    let made = known.get(key);
    if (!made) known.set(key, made = make(item));
    made.update(item);
    if (made.row !== at) {
      body.insertBefore(made.row, at);
    } else {
      at = at.nextElementSibling;
    }
  }
  for (const [key, made] of known) {
    if (seen.has(key)) continue;
    made.row.remove();
    known.delete(key);
  }
}
