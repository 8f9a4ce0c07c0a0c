// The picture of waits: owners and locks. An owner that waits for nothing comes first; then what it
// holds, then who waits for that, and so on. Where there is room that is from left to right, with
// what has nothing to do with each other side by side; where a chain has no room it is from above down,
// a step further in each time.
//
// It is laid out as a forest: each lock hangs on its first holder, each waiter on the lock that is
// deepest. What else holds or waits is a line across.

// `least`: what 'waits for nothing' takes, with room on both sides.
const BOX = {height: 42, gapX: 44, gapLeast: 26, gapY: 10, margin: 6, least: 124, most: 232, good: 168};
const TREE = {below: 560, step: 24, least: 110, aside: 16};  // px of room below which it always goes down
const GRAPH_WAITERS_MAX = 4;  // of a lock; the rest are one box
const GRAPH_LETTER = 7.7;     // px of a character of a name
const GRAPH_WALL = 2200;      // px of a window from which on it is drawn larger
const GRAPH_WALL_SCALE = 1.3;

function graphOf(locks) {
  const owners = new Map();
  const nodes = [];
  const edges = [];
  const add = (node) => {
    nodes.push({children: [], holds: false, waits: null, ...node});
    return nodes[nodes.length - 1];
  };
  const ownerNode = (name) => {
    const id = idOf(name);
    if (!owners.has(id)) owners.set(id, add({kind: 'owner', name, locksWaited: []}));
    return owners.get(id);
  };
  for (const lock of locks) {
    const node = add({kind: 'lock', name: lock.name, lock, holders: []});
    for (const holder of lock.holders) {
      const owner = ownerNode(holder.owner);
      owner.holds = true;
      owner.from = owner.from || fromWords(holder);
      node.holders.push(owner);
      edges.push({from: node, to: owner, kind: 'hold'});
    }
    let strangers = 0;
    for (const wait of lock.queue) {
      const known = owners.has(idOf(wait.owner));
      if (!known && strangers === GRAPH_WAITERS_MAX) continue;
      if (!known) strangers += 1;
      const owner = ownerNode(wait.owner);
      owner.from = owner.from || fromWords(wait);
      owner.waits = owner.waits || wait;
      owner.locksWaited.push(node);
      edges.push({from: owner, to: node, kind: 'wait'});
    }
    const left = lock.queue.length + lock.more_waiters - edges.filter((edge) => edge.to === node).length;
    if (left > 0) {
      const rest = add({kind: 'more', text: `${count(left)} more`, locksWaited: [node]});
      edges.push({from: rest, to: node, kind: 'wait'});
    }
  }
  return {nodes, edges};
}

// Columns: even ones are owners, odd ones locks. A circle, which there is only for a moment, is cut.
function depthOf(node, path = new Set()) {
  if (node.depth !== undefined) return node.depth;
  if (path.has(node)) return 0;
  path.add(node);
  const before = node.kind === 'lock' ? node.holders : node.locksWaited;
  let depth = node.kind === 'lock' ? 1 : 0;
  for (const other of before) {
    const candidate = depthOf(other, path) + 1;
    if (candidate > depth) depth = candidate;
  }
  path.delete(node);
  if (path.size === 0) node.depth = depth;
  return depth;
}

// What hangs on a node, and the groups that no line connects.
function hang(graph) {
  for (const node of graph.nodes) depthOf(node);
  for (const node of graph.nodes) {
    const before = node.kind === 'lock' ? node.holders : node.locksWaited;
    node.parent = before.find((other) => other.depth === node.depth - 1);
    if (node.parent) node.parent.children.push(node);
  }
  const groupOf = (node) => (node.group === undefined ? node : node.group = groupOf(node.group));
  for (const {from, to} of graph.edges) {
    const [one, other] = [groupOf(from), groupOf(to)];
    if (one !== other) one.group = other;
  }
  const groups = new Map();
  for (const node of graph.nodes) {
    const top = groupOf(node);
    groups.set(top, (groups.get(top) || []).concat(node));
  }
  // The longest chains first, and what has the most behind it.
  const reach = (node) => Math.max(node.depth, ...node.children.map(reach));
  const size = (node) => node.children.reduce((sum, child) => sum + size(child), 1);
  const first = (one, other) => reach(other) - reach(one) || size(other) - size(one);
  const sort = (nodes) => nodes.sort(first).forEach((node) => {
    if (node.kind === 'owner') sort(node.children);
  });
  const all = [...groups.values()].map((nodes) => {
    const roots = nodes.filter((node) => !node.parent);
    sort(roots);
    // A second holder of a lock has nothing of its own behind it.
    const besides = roots.filter((node) => node.children.length === 0 && node.kind === 'owner' && roots.length > 1);
    return {nodes, roots: roots.filter((node) => !besides.includes(node)), besides};
  });
  return all.sort((one, other) => first(one.roots[0] || one.nodes[0], other.roots[0] || other.nodes[0]));
}

// From left to right. Gives the height of a group in rows.
function placeInColumns(graph, group, left, {width, gap}) {
  const step = BOX.height + BOX.gapY;
  let row = 0;
  const put = (node, y) => {
    node.width = width;
    node.x = left + node.depth * (width + gap);
    node.y = y;
  };
  // Leaves take a row each, others stand beside the first of theirs.
  const place = (node) => {
    if (node.children.length === 0) {
      put(node, row * step);
      row += 1;
      return;
    }
    node.children.forEach(place);
    put(node, node.children[0].y);
  };
  group.roots.forEach(place);
  // They stand below the first holder, where that column is free.
  const taken = new Set(group.nodes.filter((node) => node.depth === 0 && node.y !== undefined).map((node) => node.y));
  for (const node of group.besides) {
    const lock = graph.edges.find((edge) => edge.to === node);
    let y = lock && lock.from.y !== undefined ? lock.from.y : 0;
    while (taken.has(y)) y += step;
    taken.add(y);
    put(node, y);
    row = Math.max(row, Math.round(y / step) + 1);
  }
  return row;
}

// So wide are the columns at least.
function leastWidthOf(graph) {
  const columns = 1 + Math.max(...graph.nodes.map((node) => depthOf(node)));
  return columns * BOX.least + (columns - 1) * BOX.gapLeast + 2 * BOX.margin;
}

// Groups side by side where there is room for more than one, each as wide as what is to be read.
function layOutInColumns(graph, room) {
  const groups = hang(graph);
  const step = BOX.height + BOX.gapY;
  const columns = 1 + Math.max(...graph.nodes.map((node) => node.depth));
  const widthOf = (width, gap) => columns * width + (columns - 1) * gap;
  const lanes = Math.max(1, Math.min(groups.length, Math.floor((room + BOX.gapX) / (widthOf(BOX.good, BOX.gapX) + BOX.gapX))));
  const each = (room - 2 * BOX.margin - (lanes - 1) * BOX.gapX) / lanes;
  const within = (least, value, most) => Math.min(most, Math.max(least, Math.floor(value)));
  const gap = within(BOX.gapLeast, (each - columns * BOX.least) / Math.max(1, columns - 1), BOX.gapX);
  const box = {gap, width: within(BOX.least, (each - (columns - 1) * gap) / columns, BOX.most)};
  const laneWidth = widthOf(box.width, gap) + BOX.gapX;
  const heights = new Array(lanes).fill(0);
  for (const group of groups) {
    const lane = heights.indexOf(Math.min(...heights));
    const rows = placeInColumns(graph, group, BOX.margin + lane * laneWidth, box);
    for (const node of group.nodes) node.y += BOX.margin + heights[lane] * step;
    heights[lane] += rows;
  }
  const right = Math.max(...graph.nodes.map((node) => node.x + node.width));
  return {width: right + BOX.margin, height: Math.max(...heights) * step - BOX.gapY + 2 * BOX.margin};
}

// From above down: a row for each, further in the more there is before it.
function layOutAsTree(graph, room) {
  const groups = hang(graph);
  const deepest = Math.max(...graph.nodes.map((node) => node.depth), 1);
  let row = 0;
  const aside = graph.edges.length > graph.nodes.length - 1 ? TREE.aside : BOX.margin;
  const step = Math.max(8, Math.min(TREE.step, (room - TREE.least) / deepest));
  const put = (node) => {
    node.x = BOX.margin + node.depth * step;
    node.y = BOX.margin + row * (BOX.height + BOX.gapY);
    node.width = room - node.x - aside;
    row += 1;
  };
  const place = (node) => {
    put(node);
    node.children.forEach(place);
  };
  for (const group of groups) {
    group.besides.forEach(put);
    group.roots.forEach(place);
  }
  return {width: room, height: row * (BOX.height + BOX.gapY) - BOX.gapY + 2 * BOX.margin, isTree: true};
}

function boxOf(node, ticks) {
  const middle = BOX.height / 2;
  const classes = node.kind === 'lock' ? 'lock' : node.kind === 'more' ? 'waiter more' : node.waits ? 'waiter' : 'holder';
  const sub = svg('text', {class: 'sub', x: 12, y: middle + 13});
  const tell = subOf(node);
  if (tell) {
    sub.textContent = tell();
    ticks.push(() => setText(sub, tell()));
  }
  const text = node.kind === 'more' ? node.text : nameText(node.name, Math.floor((node.width - 28) / GRAPH_LETTER));
  const radius = node.kind === 'lock' ? 6 : BOX.height / 2;
  return svg('g', {class: classes, transform: `translate(${node.x} ${node.y})`},
    svg('rect', {width: node.width, height: BOX.height, rx: radius}),
    svg('text', {x: 12, y: tell ? middle - 3 : middle + 4}, text), sub,
    node.name ? svg('title', {}, [nameText(node.name, 120), node.from].filter(Boolean).join('\n')) : null);
}

// What stands below the name: what runs down.
function subOf(node) {
  if (node.kind === 'more') return null;
  if (node.kind === 'lock') {
    const holder = node.lock.holders[0];
    if (!holder) return () => (node.lock.mode === 'free' ? 'free' : node.lock.mode);
    return () => leaseWords(holder);
  }
  if (node.waits) return () => `waits ${span(sinceAnswer(node.waits, node.waits.waited_ms))}`;
  return () => 'waits for nothing';
}

// The parts of a line: where it goes, and its tip.
function wayOf(edge, isTree) {
  const fromX = edge.from.x;
  const fromY = edge.from.y + BOX.height / 2;
  const toY = edge.to.y + BOX.height / 2;
  if (isTree && edge.from.parent === edge.to) {
    const x = edge.to.x + 11;
    const bottom = edge.to.y + BOX.height;
    return [`M${fromX} ${fromY}H${x + 6}Q${x} ${fromY} ${x} ${fromY - 6}V${bottom + 9}`, `M${x} ${bottom + 1}l5 9h-10z`];
  }
  if (isTree) {
    const right = edge.from.x + edge.from.width;
    const toX = edge.to.x + edge.to.width;
    return [`M${right} ${fromY}C${right + 14} ${fromY} ${toX + 16} ${toY} ${toX + 9} ${toY}`, `M${toX + 1} ${toY}l9 -5v10z`];
  }
  const toX = edge.to.x + edge.to.width;
  const bend = Math.max(BOX.gapLeast / 2, Math.abs(fromX - toX) / 2);
  const tip = toX + 9;
  return [`M${fromX} ${fromY}C${fromX - bend} ${fromY} ${tip + bend} ${toY} ${tip} ${toY}`, `M${toX + 1} ${toY}l9 -5v10z`];
}
function edgeOf(edge, isTree) {
  const [way, tip] = wayOf(edge, isTree);
  return svg('g', {}, svg('path', {class: edge.kind, d: way}), svg('path', {class: `arrow-${edge.kind}`, d: tip}));
}

// Gives what is to be called as time goes on.
function drawGraph(holder, locks) {
  const graph = graphOf(locks);
  const ticks = [];
  if (graph.nodes.length === 0) {
    holder.replaceChildren();
    return ticks;
  }
  const scale = innerWidth >= GRAPH_WALL ? GRAPH_WALL_SCALE : 1;
  const room = Math.max(240, holder.clientWidth / scale);
  const {width, height, isTree} = room < TREE.below || room < leastWidthOf(graph) ? layOutAsTree(graph, room) : layOutInColumns(graph, room);
  const owners = graph.nodes.filter((node) => node.kind === 'owner').length;
  const words = `${plural(owners, 'owner', 'owners')} and ${plural(locks.length, 'lock', 'locks')} that are waited for`;
  const picture = svg('svg', {width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words},
    ...graph.edges.map((edge) => edgeOf(edge, isTree)), ...graph.nodes.map((node) => boxOf(node, ticks)));
  holder.replaceChildren(picture);
  showWhereItGoesOn();
  return ticks;
}

// Where the picture is larger than its frame: an edge that fades, and words.
function showWhereItGoesOn() {
  const holder = $('graph');
  const left = {
    below: holder.scrollHeight - holder.clientHeight - holder.scrollTop,
    right: holder.scrollWidth - holder.clientWidth - holder.scrollLeft,
  };
  const ways = Object.keys(left).filter((way) => left[way] > 4);
  for (const way of Object.keys(left)) $('graph-frame').classList.toggle(`on-${way}`, ways.includes(way));
  setText($('graph-on'), ways.length > 0 ? `The picture goes on ${ways.map((way) => (way === 'right' ? 'to the right' : way)).join(' and ')}.` : '');
}
