// The data of the report (tools/report/report_data.h), decoded: nodes, values, casts and weights by number.
const SIZES = { float32: 4, float64: 8, int64: 8, int32: 4, float16: 2, bfloat16: 2 };

// What reasons mean, by how they are drawn. "list": a list, a rule or a flag says so; "neighbours": the types beside it
// do; "guard": a guard does; "cannot": types or the target do not allow another one.
const MEANINGS = {
  list: {
    seeded: "its class is allow", forced: "a flag says so", denied: "its class is deny", unlisted: "no list has it",
    level: "--level", "not-processed": "excluded by name, or a BatchNormalization that cannot be replaced",
  },
  neighbours: {
    between: "between low nodes", follows: "follows a low node", "clear-neighbour": "its neighbours are low",
    "cast-joins": "every reader of this cast is low", matches: "must have the type of another node",
    "saves-traffic": "float32 would move more bytes, or need more casts",
    "costs-traffic": "the low type would move more bytes", "no-allowed-path": "no allowed operator is near",
    "denied-by-path": "a denied operator or a guard is ahead of it",
    group: "must have the type of another node, which stays float32",
  },
  guard: { guard: "known to go wrong in 16 bits" },
  cannot: {
    "type-unknown": "the type of one of its values is not known", "no-fast-kernel": "the target is not fast with it",
    "schema-forbids": "its operator does not take the low type", pinned: "types of sequences hold it",
    "unknown-operator": "nobody knows its types: --op-signature", "signature-misfit": "it does not fit its signature",
    "function-call": "a call that is kept", body: "in a body of an operator that is no control flow",
  },
  none: {
    "not-float32": "has nothing to convert", constant: "goes with its readers", cast: "the model's own cast",
    replaced: "folded, or replaced by another node",
  },
};
const borderOf = (reason) => Object.keys(MEANINGS).find((border) => Object.hasOwn(MEANINGS[border], reason)) || "none";
export const meaningOf = (reason) => MEANINGS[borderOf(reason)][reason] || "";

export function decode(raw) {
  const strings = raw.strings;
  const columns = raw.nodes;
  const column = (name) => (i) => strings[columns[name][i]];
  const data = {
    ...raw,
    count: columns.count,
    path: column("path"),
    operator: column("operator"),
    className: column("class"),
    origin: column("origin"),
    classWhy: column("why"),
    type: column("type"),
    reason: column("reason"),
    because: column("because"),
    isLow: (i) => columns.low[i] === 1,
    isHeavy: (i) => columns.heavy[i] === 1,
    hasGraph: columns.inputs !== undefined,
  };
  data.kind = (i) => (data.isLow(i) ? "low" : data.type(i) === "float32" ? "high" : "other");
  data.border = (i) => borderOf(data.reason(i));
  data.casts = raw.casts.map(([name, valueName, value, ...rest]) => {
    const [from, to, elements, readers, nodes] = rest;
    const cast = { name, valueName, from, to };
    for (const key of Object.keys(cast)) cast[key] = strings[cast[key]];
    const bytes = elements < 0 ? -1 : elements * ((SIZES[cast.from] || 4) + (SIZES[cast.to] || 2));
    return { ...cast, value, elements, bytes, readers: readers.map((reader) => strings[reader]), nodes };
  });
  data.weights = raw.weights.map((weight) => {
    const [name, before, after, stays, saturated, largest, overflow, underflow, subnormal, error, ...rest] = weight;
    const [first, width, bins, zeros, notFinite] = rest;
    const counts = { largest, overflow, underflow, subnormal, error };
    const exponents = { first, width, bins, zeros, notFinite };
    const facts = { originalStays: stays === 1, saturated: saturated === 1 };
    return { name: strings[name], before, after, ...facts, ...counts, exponents };
  });
  // Errors of parts, by --sensitivity; those that a search keeps have their share alone.
  data.parts = raw.parts.map(([name, error, share, nodes]) => ({ name: strings[name], error, share, nodes }));
  const partOf = new Map(data.parts.flatMap((part) => part.nodes.map((path) => [path, part])));
  data.part = (i) => partOf.get(columns.path[i]);
  if (data.hasGraph) connect(data);
  let haystacks = null;
  // The nodes whose path, operator, type, class or reason hold all of the words.
  data.find = (text, limit) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    if (words.length === 0) return found;
    if (haystacks === null) {
      const columns = [data.path, data.operator, data.type, data.className, data.reason];
      const textOf = (i) => columns.map((column) => column(i)).join("\n");
      haystacks = Array.from({ length: data.count }, (_, i) => textOf(i).toLowerCase());
    }
    for (let i = 0; i < data.count && found.length < limit; ++i) {
      if (words.every((word) => haystacks[i].includes(word))) found.push(i);
    }
    return found;
  };
  return data;
}

// Adds who gives and who reads each value.
function connect(data) {
  const { values, strings } = data;
  data.inputsOf = (i) => data.nodes.inputs[i];
  data.outputsOf = (i) => data.nodes.outputs[i];
  data.valueName = (v) => strings[values.name[v]];
  data.valueType = (v) => strings[values.type[v]];
  data.isConstant = (v) => values.constant[v] === 1;
  data.bodyOutputs = new Map(data.nodes.bodies.map(([i, , outputs]) => [i, outputs])); // of nodes that hold graphs
  data.producer = new Int32Array(values.count).fill(-1);
  for (const [i, inputs] of data.nodes.bodies) for (const v of inputs) data.producer[v] = i; // in each round
  data.readers = new Map();
  for (let i = 0; i < data.count; ++i) {
    for (const v of data.outputsOf(i)) data.producer[v] = i;
    for (const v of data.inputsOf(i)) {
      if (data.isConstant(v)) continue;
      if (data.readers.has(v)) data.readers.get(v).push(i);
      else data.readers.set(v, [i]);
    }
  }
  const asRange = ([v, largest, overflow, underflow, error, elements, first, width, bins, zeros, notFinite]) => {
    const exponents = { first, width, bins, zeros, notFinite };
    return [v, { value: v, largest, overflow, underflow, error, elements, exponents }];
  };
  data.observed = new Map(values.observed.map(asRange));
  // By value: its casts.
  data.castsOf = new Map();
  for (const cast of data.casts) {
    if (cast.value < 0) continue;
    if (!data.castsOf.has(cast.value)) data.castsOf.set(cast.value, []);
    data.castsOf.get(cast.value).push(cast);
  }
  data.castBetween = (v, reader) => (data.castsOf.get(v) || []).find((cast) => cast.nodes.includes(reader));
  data.weightsByName = new Map(data.weights.map((weight) => [weight.name, weight]));
}
