// The picture of waits: owners and locks from left to right. An owner at the left waits for nothing;
// what it holds stands at its right, who waits for that at the right of it, and so on.
//
// It is laid out as a forest: each lock hangs on its first holder, each waiter on the lock that is
// deepest. Leaves take a row each, others stand beside the first of theirs; what else holds or waits
// is a line across.

const BOX = {width: 144, height: 42, gapX: 44, gapY: 10, margin: 6};
const GRAPH_WAITERS_MAX = 4;  // of a lock; the rest are one box
const GRAPH_CHARACTERS = 16;
const GRAPH_SHARE_MIN = 0.7;  // a picture that is wider is made smaller down to that, then scrolls

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
      node.holders.push(owner);
      edges.push({from: node, to: owner, kind: 'hold'});
    }
    let strangers = 0;
    for (const wait of lock.queue) {
      const known = owners.has(idOf(wait.owner));
      if (!known && strangers === GRAPH_WAITERS_MAX) continue;
      if (!known) strangers += 1;
      const owner = ownerNode(wait.owner);
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

function layOut(graph) {
  for (const node of graph.nodes) depthOf(node);
  const roots = [];
  for (const node of graph.nodes) {
    const before = node.kind === 'lock' ? node.holders : node.locksWaited;
    const parent = before.find((other) => other.depth === node.depth - 1);
    if (parent) parent.children.push(node);
    else roots.push(node);
  }
  let row = 0;
  const place = (node) => {
    node.x = BOX.margin + node.depth * (BOX.width + BOX.gapX);
    if (node.children.length === 0) {
      node.y = BOX.margin + row * (BOX.height + BOX.gapY);
      row += 1;
      return;
    }
    node.children.forEach(place);
    node.y = node.children[0].y;
  };
  // The longest chains first, and what has the most behind it.
  const reach = (node) => Math.max(node.depth, ...node.children.map(reach));
  const size = (node) => node.children.reduce((sum, child) => sum + size(child), 1);
  const first = (one, other) => reach(other) - reach(one) || size(other) - size(one);
  const sort = (nodes) => nodes.sort(first).forEach((node) => {
    if (node.kind === 'owner') sort(node.children);
  });
  sort(roots);
  // Who holds beside the first holder stands below it, where that column is free.
  const besides = roots.filter((node) => node.children.length === 0 && node.kind === 'owner');
  roots.filter((node) => !besides.includes(node)).forEach(place);
  const step = BOX.height + BOX.gapY;
  const taken = new Set(graph.nodes.filter((node) => node.depth === 0 && node.y !== undefined).map((node) => node.y));
  for (const node of besides) {
    const lock = graph.edges.find((edge) => edge.to === node);
    let y = lock ? lock.from.y : BOX.margin;
    while (taken.has(y)) y += step;
    taken.add(y);
    node.x = BOX.margin;
    node.y = y;
    row = Math.max(row, Math.round((y - BOX.margin) / step) + 1);
  }
  const right = Math.max(...graph.nodes.map((node) => node.x + BOX.width));
  return {width: right + BOX.margin, height: row * (BOX.height + BOX.gapY) - BOX.gapY + 2 * BOX.margin};
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
  const text = node.kind === 'more' ? node.text : nameText(node.name, GRAPH_CHARACTERS);
  const radius = node.kind === 'lock' ? 6 : BOX.height / 2;
  return svg('g', {class: classes, transform: `translate(${node.x} ${node.y})`},
    svg('rect', {width: BOX.width, height: BOX.height, rx: radius}),
    svg('text', {x: 12, y: tell ? middle - 3 : middle + 4}, text), sub,
    node.name ? svg('title', {}, nameText(node.name, 120)) : null);
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

function edgeOf(edge) {
  const fromX = edge.from.x;
  const fromY = edge.from.y + BOX.height / 2;
  const toX = edge.to.x + BOX.width;
  const toY = edge.to.y + BOX.height / 2;
  const bend = Math.max(BOX.gapX / 2, Math.abs(fromX - toX) / 2);
  const tip = toX + 9;
  return svg('g', {},
    svg('path', {class: edge.kind, d: `M${fromX} ${fromY}C${fromX - bend} ${fromY} ${tip + bend} ${toY} ${tip} ${toY}`}),
    svg('path', {class: `arrow-${edge.kind}`, d: `M${toX + 1} ${toY}l9 -5v10z`}));
}

// Gives what is to be called as time goes on.
function drawGraph(holder, locks) {
  const graph = graphOf(locks);
  const ticks = [];
  if (graph.nodes.length === 0) {
    holder.replaceChildren();
    return ticks;
  }
  const {width, height} = layOut(graph);
  const owners = graph.nodes.filter((node) => node.kind === 'owner').length;
  const words = `${plural(owners, 'owner', 'owners')} and ${plural(locks.length, 'lock', 'locks')} that are waited for`;
  const picture = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words},
    ...graph.edges.map(edgeOf), ...graph.nodes.map((node) => boxOf(node, ticks)));
  if (width > holder.clientWidth && holder.clientWidth > width * GRAPH_SHARE_MIN) {
    picture.setAttribute('width', '100%');
    picture.removeAttribute('height');
  }
  holder.replaceChildren(picture);
  return ticks;
}
