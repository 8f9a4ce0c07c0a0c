// Plots over the last hour: one line, from 0 to the most that there was. What they show is said in
// words, too, and at the pointer.

const PLOT_WIDTH = 240;
const PLOT_HEIGHT = 38;

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
    this.element = svg('svg', {viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, preserveAspectRatio: 'none', role: 'img'},
      svg('line', {class: 'plot-base', x1: 0, x2: PLOT_WIDTH, y1: PLOT_HEIGHT, y2: PLOT_HEIGHT}),
      this.area, this.line, this.at);
    this.pointed = () => {};
    this.element.addEventListener('pointermove', (event) => this.point(event));
    this.element.addEventListener('pointerleave', () => this.leave());
  }

  // As many places as there can be: what has not come yet is free at the left.
  draw(values, times, places) {
    this.values = values;
    this.times = times;
    this.places = Math.max(places, 2);
    const most = Math.max(...values, 0) || 1;
    const points = values.map((value, at) => {
      const y = PLOT_HEIGHT - 1 - (value / most) * (PLOT_HEIGHT - 4);
      return `${this.x(at).toFixed(1)} ${y.toFixed(1)}`;
    });
    const line = points.length > 0 ? `M${points.join('L')}` : '';
    this.line.setAttribute('d', line);
    this.area.setAttribute('d', line && `${line}L${PLOT_WIDTH} ${PLOT_HEIGHT}L${this.x(0).toFixed(1)} ${PLOT_HEIGHT}Z`);
    const words = values.length === 0 ? 'nothing yet' :
      `now ${this.figure(values[values.length - 1])}, least ${this.figure(Math.min(...values))}, most ${this.figure(Math.max(...values))}`;
    this.element.setAttribute('aria-label', `${this.label} over the last hour: ${words}`);
  }

  x(at) {
    return PLOT_WIDTH * (1 - (this.values.length - 1 - at) / (this.places - 1));
  }

  point(event) {
    if (this.values.length === 0) return;
    const box = this.element.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const back = Math.round((1 - share) * (this.places - 1));
    const at = Math.min(Math.max(this.values.length - 1 - back, 0), this.values.length - 1);
    this.at.setAttribute('visibility', 'visible');
    this.at.setAttribute('x1', this.x(at));
    this.at.setAttribute('x2', this.x(at));
    this.pointed(`${clock(this.times[at])}: ${this.figure(this.values[at])}`);
  }

  leave() {
    this.at.setAttribute('visibility', 'hidden');
    this.pointed(null);
  }
}
