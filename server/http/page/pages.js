// Long lists in pages, with numbers and a way back. A page is known by where it begins: a cursor of
// the server's, or a place in a list that is here. It has few rows where a row is a card.

const NARROW = window.matchMedia('(max-width: 640px)');
const PAGES_KEPT_MAX = 10000;

function rowsOf(wide, narrow) {
  return NARROW.matches ? narrow : wide;
}

class Pages {
  // `name`: of the elements `name`-pages, -back, -next and -page. `turned` asks or shows anew.
  constructor(name, turned) {
    this.name = name;
    this.turned = turned;
    this.begin();
  }
  listen() {
    $(`${this.name}-back`).addEventListener('click', () => this.turn(-1));
    $(`${this.name}-next`).addEventListener('click', () => this.turn(1));
  }
  begin() {
    this.starts = ['0'];
    this.at = 0;
    this.next = null;
  }
  get start() {
    return this.starts[this.at];
  }
  // Nothing of this page lies before: it need not be looked through again.
  skipTo(start) {
    this.starts[this.at] = start;
  }
  turn(by) {
    if (by > 0) {
      if (this.next === null || this.at === PAGES_KEPT_MAX) return;
      this.starts[this.at + 1] = this.next;
    }
    this.at = Math.max(0, this.at + by);
    this.turned();
  }
  // `next`: where the next page begins; null: there is none. `pages`: how many there are; 0: not known.
  show(next, pages = 0) {
    this.next = next;
    const isPaged = this.at > 0 || next !== null;
    show($(`${this.name}-pages`), isPaged);
    if (!isPaged) return;
    for (const [way, isOff] of [['back', this.at === 0], ['next', next === null]]) {
      const control = $(`${this.name}-${way}`);
      const had = control === document.activeElement;
      control.disabled = isOff;
      if (isOff && had) $(`${this.name}-${way === 'back' ? 'next' : 'back'}`).focus();
    }
    const of = pages > 0 ? ` of ${count(Math.max(pages, this.at + 1))}` : '';
    setText($(`${this.name}-page`), `Page ${count(this.at + 1)}${of}`);
  }
  // The part of a list that is here; shows the rest.
  slice(items, rows) {
    while (this.at > 0 && Number(this.start) >= items.length) this.at -= 1;
    const from = Number(this.start);
    this.show(from + rows < items.length ? String(from + rows) : null, Math.ceil(items.length / rows));
    return items.slice(from, from + rows);
  }
}
