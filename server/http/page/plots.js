// Plots: one line from what was first to now, as wide as there is room, from 0 to the most that there
// was. The axes say how much and since when; the pointer shows a value. All is said in words, too.

const PLOT_WIDTH = 240;
const PLOT_HEIGHT = 44;
const PLOT_TOP = 4;  // of the line at the most there was

class Plot {
  // `figure(value)` is a value in words.
  constructor(label, figure) {
    this.label = label;
    this.figure = figure;
    this.values = [];
    this.times = [];
    this.area = svg('path', {class: 'plot-area'});
    this.line = svg('path', {class: 'plot-line'});
    this.at = svg('line', {class: 'plot-at', y1: 0, y2: PLOT_HEIGHT, visibility: 'hidden'});
    const rule = (y, kind) => svg('line', {class: kind, x1: 0, x2: PLOT_WIDTH, y1: y, y2: y});
    this.picture = svg('svg', {viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, preserveAspectRatio: 'none', role: 'img'},
      rule(PLOT_TOP, 'plot-most'), rule(PLOT_HEIGHT, 'plot-base'), this.area, this.line, this.at);
    this.most = el('span', {class: 'plot-figure'});
    this.dot = el('i', {class: 'plot-dot', hidden: ''});
    this.value = el('span', {class: 'plot-value', hidden: ''});
    this.since = el('span');
    this.until = el('span');
    this.field = el('div', {class: 'plot-field'}, this.picture, this.most, this.dot, this.value);
    this.element = el('div', {class: 'plot'}, this.field,
      el('div', {class: 'plot-axis', 'aria-hidden': 'true'}, this.since, this.until));
    this.field.addEventListener('pointermove', (event) => this.point(event));
    this.field.addEventListener('pointerleave', () => this.leave());
  }

  // Times are in seconds, the newest last.
  draw(values, times) {
    this.values = values;
    this.times = times;
    this.top = Math.max(...values, 0) || 1;
    const at = values.length === 1 ? [0, 0] : values.map((_, index) => index);
    const points = at.map((index, place) => `${this.x(place, at.length).toFixed(1)} ${this.y(values[index]).toFixed(1)}`);
    const line = points.length > 0 ? `M${points.join('L')}` : '';
    this.line.setAttribute('d', line);
    this.area.setAttribute('d', line && `${line}L${PLOT_WIDTH} ${PLOT_HEIGHT}L0 ${PLOT_HEIGHT}Z`);
    setText(this.most, values.length > 0 ? this.figure(Math.max(...values, 0)) : '');
    const past = times.length > 1 ? 1000 * (times[times.length - 1] - times[0]) : 0;
    setText(this.since, past > 0 ? `${roughSpan(past)} ago` : '');
    setText(this.until, values.length > 0 ? 'now' : 'nothing yet');
    const words = values.length === 0 ? 'nothing yet' :
      `now ${this.figure(values[values.length - 1])}, least ${this.figure(Math.min(...values))}, most ${this.figure(Math.max(...values))}`;
    this.picture.setAttribute('aria-label', `${this.label} over the last ${past > 0 ? roughSpan(past) : 'moment'}: ${words}`);
    if (this.pointer !== undefined) this.showValue();
  }

  x(place, places = this.values.length) {
    return places < 2 ? PLOT_WIDTH : PLOT_WIDTH * place / (places - 1);
  }
  y(value) {
    return PLOT_HEIGHT - (value / this.top) * (PLOT_HEIGHT - PLOT_TOP);
  }

  point(event) {
    const box = this.field.getBoundingClientRect();
    this.pointer = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    this.showValue();
  }

  showValue() {
    if (this.values.length === 0) return;
    const last = this.values.length - 1;
    const place = Math.round(this.pointer * last);
    const x = this.x(place);
    this.at.setAttribute('visibility', 'visible');
    this.at.setAttribute('x1', x);
    this.at.setAttribute('x2', x);
    const box = this.field.getBoundingClientRect();
    show(this.dot, true);
    this.dot.style.left = `${(100 * x) / PLOT_WIDTH}%`;
    this.dot.style.top = `${(100 * this.y(this.values[place])) / PLOT_HEIGHT}%`;
    show(this.value, true);
    setText(this.value, `${clock(this.times[place])}  ${this.figure(this.values[place])}`);
    const half = this.value.offsetWidth / 2;
    const middle = Math.min(Math.max((x / PLOT_WIDTH) * box.width, half), Math.max(half, box.width - half));
    this.value.style.left = `${middle}px`;
  }

  leave() {
    this.pointer = undefined;
    this.at.setAttribute('visibility', 'hidden');
    show(this.dot, false);
    show(this.value, false);
  }
}
