// The nodes as a tree of groups, by the scopes of their names, and what one open group shows: at most about 100 boxes.
//
//   /block/0/MatMul, /block/0/Relu, /block/1/MatMul, ...    block: "0 … 11 × 12", which opens to 12 groups
const SPLIT_OVER = 80; // boxes in one group
const FOLD_OVER = 40; // boxes from which on chains are folded
const SHORTEST_CHAIN = 3;

function newGroup(name, parent) {
  return { name, parent, groups: new Map(), items: [], nodes: [], count: 0, low: 0, high: 0, repeats: 0 };
}

function insert(root, path, i) {
  const parts = path.split("/").filter(Boolean);
  let group = root;
  for (const part of parts.slice(0, -1)) {
    if (!group.groups.has(part)) group.groups.set(part, newGroup(part, group));
    group = group.groups.get(part);
  }
  group.nodes.push(i);
}

// A node that holds bodies has the path of the group of these: it is drawn within.
function moveOwners(data, group) {
  if (group.groups.size === 0) return;
  const owners = new Map(group.nodes.map((i) => [plainName(data, i), i]));
  for (const [name, child] of group.groups) {
    moveOwners(data, child);
    if (!owners.has(name)) continue;
    child.nodes.unshift(owners.get(name));
    owners.delete(name);
  }
  group.nodes = group.nodes.filter((i) => owners.has(plainName(data, i)) || !group.groups.has(plainName(data, i)));
}

// Counts, the order by first nodes, and a signature that equal groups share.
function finish(data, group) {
  for (const [name, child] of group.groups) {
    finish(data, child);
    if (child.count === 1) {
      group.nodes.push(...child.nodes); // a scope of one node is that node
      group.groups.delete(name);
    } else if (child.items.length === 1 && child.nodes.length === 0) {
      const only = child.items[0].group; // "a" that holds only "b" is "a/b"
      only.name = `${child.name}/${only.name}`;
      only.parent = group;
      group.groups.set(name, only);
    }
  }
  const groups = [...group.groups.values()].map((child) => ({ group: child, first: child.first }));
  const items = [...group.nodes.map((i) => ({ node: i, first: i })), ...groups];
  items.sort((a, b) => a.first - b.first);
  setItems(data, group, items);
}

function setItems(data, group, items) {
  group.items = items;
  group.first = items.length ? items[0].first : 0;
  group.count = group.low = group.high = 0;
  for (const item of items) {
    if (item.group) {
      item.group.parent = group;
      for (const key of ["count", "low", "high"]) group[key] += item.group[key];
    } else {
      group.count += 1;
      group.low += data.kind(item.node) === "low" ? 1 : 0;
      group.high += data.kind(item.node) === "high" ? 1 : 0;
    }
  }
  const word = ({ group: inner, node }) => (inner ? inner.signature : `${data.operator(node)}:${data.kind(node)}`);
  group.signature = hash(items.map(word).join());
}

function hash(text) {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < text.length; ++i) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b + text.charCodeAt(i), 0x85ebca6b) ^ (b >>> 13);
  }
  return `${text.length}.${a >>> 0}.${b >>> 0}`;
}

function wrap(data, name, items, extra) {
  const group = Object.assign(newGroup(name, null), extra);
  setItems(data, group, items);
  return { group, first: group.first };
}

// "layer.0" and "layer.11": "layer.0…11".
function rangeName(first, last) {
  let same = 0;
  while (same < first.length && first[same] === last[same]) ++same;
  while (same > 0 && /[0-9A-Za-z]/.test(first[same - 1])) --same;
  return `${first}…${last.slice(same)}`;
}

// Whether two groups are blocks of one kind: equal inside, with names that differ in numbers alone.
function isAlike(a, b) {
  const plain = (name) => name.replace(/\d+/g, "");
  return a !== undefined && a.signature === b.signature && plain(a.name) === plain(b.name);
}

// Equal groups one behind the other become one.
function collapseRepeats(data, group) {
  const items = [];
  for (let i = 0; i < group.items.length; ) {
    const item = group.items[i];
    let end = i + 1;
    while (item.group && end < group.items.length && isAlike(group.items[end].group, item.group)) ++end;
    if (end - i >= 2 && !(i === 0 && end === group.items.length)) {
      const name = rangeName(item.group.name, group.items[end - 1].group.name);
      items.push(wrap(data, name, group.items.slice(i, end), { repeats: end - i }));
    } else items.push(...group.items.slice(i, end));
    i = end;
  }
  setItems(data, group, items);
}

// Where nodes without scopes repeat a sequence of operators, each round becomes a group.
function findRounds(data, group) {
  const items = group.items;
  const words = items.map((item) => (item.group ? item.group.signature : data.operator(item.node)));
  const most = Math.min(400, Math.floor(words.length / 3));
  let best = { saved: 0 };
  for (let period = 4; period <= most; ++period) {
    for (let i = 0, run = 0; i + period <= words.length; ++i) {
      if (i + period < words.length && words[i] === words[i + period]) ++run;
      else {
        const rounds = Math.floor(run / period) + 1;
        const saved = (rounds - 1) * period;
        if (rounds >= 3 && saved > best.saved) best = { saved, period, rounds, begin: i - run };
        run = 0;
      }
    }
  }
  if (best.saved < items.length / 3) return;
  const made = Array.from({ length: best.rounds }, (_, k) =>
    wrap(data, `round ${k + 1}`, items.slice(best.begin + k * best.period, best.begin + (k + 1) * best.period)),
  );
  const end = best.begin + best.rounds * best.period;
  setItems(data, group, [...items.slice(0, best.begin), ...made, ...items.slice(end)]);
}

// More boxes than fit become parts, in order.
function split(data, group) {
  const items = group.items;
  if (items.length <= SPLIT_OVER) return;
  const size = Math.max(40, Math.ceil(items.length / 40));
  const parts = [];
  for (let i = 0; i < items.length; i += size) {
    const slice = items.slice(i, i + size);
    parts.push(wrap(data, `part ${parts.length + 1}: ${data.operator(firstNode(slice[0]))} …`, slice, {}));
  }
  setItems(data, group, parts);
}

const firstNode = (item) => (item.group ? firstNode(item.group.items[0]) : item.node);

function arrange(data, group) {
  for (const item of group.items) if (item.group) arrange(data, item.group);
  collapseRepeats(data, group);
  if (group.items.length > FOLD_OVER * 2 && group.items.length <= 20000) {
    findRounds(data, group);
    collapseRepeats(data, group);
  }
  const first = group.items[0]?.group;
  if (first && group.items.length > 1 && group.items.every((item) => isAlike(item.group, first))) {
    group.repeats = group.items.length;
  }
  split(data, group);
  for (const item of group.items) if (item.group && item.group.items.length > SPLIT_OVER) arrange(data, item.group);
}

// The model is shown as far as some forty boxes go: the largest groups are open from the start.
function openFirst(data, root) {
  const ENOUGH = 12;
  const MOST = 45;
  while (root.items.length < ENOUGH) {
    // One of several equal groups stays closed as the others do, such as the branches of an If.
    const isOnly = (group) => root.items.filter((item) => item.group?.signature === group.signature).length === 1;
    const hasRoom = (group) => root.items.length + group.items.length <= MOST;
    const fits = ({ group }) => group && !group.repeats && isOnly(group) && hasRoom(group);
    const groups = root.items.filter(fits);
    if (groups.length === 0) return;
    const largest = groups.reduce((a, b) => (b.group.count > a.group.count ? b : a));
    for (const { group } of largest.group.items) if (group) group.name = `${largest.group.name}/${group.name}`;
    setItems(data, root, root.items.flatMap((item) => (item === largest ? item.group.items : [item])));
  }
}

export function buildScopes(data) {
  const root = newGroup("model", null);
  for (let i = 0; i < data.count; ++i) {
    const isDrawn = data.className(i) !== "constant" && data.inputsOf(i).length + data.outputsOf(i).length > 0;
    if (isDrawn) insert(root, data.path(i), i);
  }
  moveOwners(data, root);
  finish(data, root);
  arrange(data, root);
  openFirst(data, root);
  const home = new Array(data.count).fill(null); // the group that each node is drawn in
  (function visit(group) {
    for (const item of group.items) {
      if (item.group) visit(item.group);
      else home[item.node] = group;
    }
  })(root);
  return { root, home };
}

export const groupPath = (group) => (group.parent ? [...groupPath(group.parent), group] : [group]);

// The boxes and edges of an open group. A box is {group}, {node}, {chain: [nodes]}, or, for what lies outside,
// {outside} with {group}, {node} or {value}. An edge has the values that pass, and the casts among them.
export function viewOf(data, scopes, open) {
  const boxOf = new Map(); // by node or group
  const boxes = [];
  const add = (key, box) => {
    if (!boxOf.has(key)) {
      boxes.push(Object.assign(box, { id: `b${boxes.length}`, into: new Map(), out: new Map() }));
      boxOf.set(key, box);
    }
    return boxOf.get(key);
  };
  const path = groupPath(open);
  const isAround = new Set(path);
  for (const { group, node } of open.items) add(group || `n${node}`, group ? { group } : { node });
  // The box of a node: within the open group, or that of its surroundings which the node is in.
  const boxOfNode = (i) => {
    let group = scopes.home[i];
    if (group === null) return null;
    if (group === open) return boxOf.get(`n${i}`);
    let below = null;
    while (!isAround.has(group)) {
      below = group;
      group = group.parent;
    }
    if (group === open) return boxOf.get(below);
    return below ? add(below, { group: below, outside: true }) : add(`n${i}`, { node: i, outside: true });
  };
  const link = (from, to, v, cast) => {
    if (!from || !to || from === to || (from.outside && to.outside)) return;
    const edge = from.out.get(to) || { from, to, values: new Set(), casts: new Set() };
    edge.values.add(v);
    if (cast) edge.casts.add(cast);
    from.out.set(to, edge);
    to.into.set(from, edge);
  };
  const inputs = new Set(data.values.inputs);
  const outputs = new Set(data.values.outputs);
  const visit = (group) => {
    for (const item of group.items) {
      if (item.group) {
        visit(item.group);
        continue;
      }
      const box = boxOfNode(item.node);
      for (const v of data.inputsOf(item.node)) {
        if (data.isConstant(v)) continue;
        const producer = data.producer[v];
        const asInput = () => add(`v${v}`, { value: v, outside: true, isInput: true });
        const from = producer >= 0 ? boxOfNode(producer) : inputs.has(v) ? asInput() : null;
        link(from, box, v, data.castBetween(v, item.node));
      }
      for (const v of data.bodyOutputs.get(item.node) || []) {
        if (data.producer[v] >= 0) link(boxOfNode(data.producer[v]), box, v, null);
      }
      for (const v of data.outputsOf(item.node)) {
        for (const reader of data.readers.get(v) || []) {
          const to = boxOfNode(reader);
          if (to?.outside) link(box, to, v, data.castBetween(v, reader));
        }
        if (outputs.has(v)) {
          const cast = (data.castsOf.get(v) || []).find((c) => c.nodes.length === 0);
          link(box, add(`o${v}`, { value: v, outside: true }), v, cast);
        }
      }
    }
  };
  visit(open);
  return { boxes: limitOutside(open.chain ? boxes : foldChains(data, boxes)) };
}

// Boxes in a row with one way in and one way out, of one type, become one.
function foldChains(data, boxes) {
  if (boxes.length <= FOLD_OVER) return boxes;
  const isLink = (box) => box.node !== undefined && !box.outside;
  const next = (box) => {
    if (box.out.size !== 1) return null;
    const to = [...box.out.keys()][0];
    const joins = isLink(to) && to.into.size === 1 && data.kind(to.node) === data.kind(box.node);
    return joins && [...box.out.values()][0].casts.size === 0 ? to : null;
  };
  const gone = new Set();
  const goesOn = (box) => {
    const [before] = box.into.keys();
    return box.into.size === 1 && isLink(before) && next(before) === box;
  };
  const begins = boxes.filter((box) => isLink(box) && !goesOn(box));
  for (const begin of begins) {
    const chain = [begin];
    for (let to = next(begin); to && !chain.includes(to); to = next(to)) chain.push(to);
    if (chain.length < SHORTEST_CHAIN) continue;
    const last = chain[chain.length - 1];
    for (const box of chain.slice(1)) gone.add(box);
    begin.chain = chain.map((box) => box.node);
    begin.out = last.out;
    for (const [to, edge] of last.out) {
      edge.from = begin;
      to.into.delete(last);
      to.into.set(begin, edge);
    }
  }
  return boxes.filter((box) => !gone.has(box));
}

// What lies outside is shown as far as it helps.
function limitOutside(boxes) {
  const MOST = 24;
  const outside = boxes.filter((box) => box.outside);
  if (outside.length <= MOST) return boxes;
  const gone = new Set(outside.slice(MOST));
  for (const box of gone) {
    for (const to of box.out.keys()) to.into.delete(box);
    for (const from of box.into.keys()) from.out.delete(box);
  }
  return boxes.filter((box) => !gone.has(box));
}

// The group that a folded chain opens to.
export function openChain(data, chain, parent) {
  const name = `${plainName(data, chain[0])} … ${plainName(data, chain[chain.length - 1])}`;
  const { group } = wrap(data, name, chain.map((node) => ({ node, first: node })), { chain: true });
  group.parent = parent;
  return group;
}

export const plainName = (data, i) => data.path(i).split("/").filter(Boolean).pop() || data.path(i);
