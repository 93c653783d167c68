import { isObject, sameValue } from "@bulrush/model";
import { type Document, isMap, isScalar, isSeq, type Node, Scalar, type YAMLMap, type YAMLSeq } from "yaml";

/**
 * Makes the node at `path` of a YAML document say `value`, and leaves what says the same already as it is, its comments
 * too. The document has no anchors there.
 */
export function setAt(document: Document, path: readonly (string | number)[], value: unknown): void {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  const next = merged(document, node, value);
  if (path.length === 0) document.contents = next;
  else document.setIn(path, next);
}

function merged(document: Document, node: unknown, value: unknown): Node {
  if (isMap(node) && isObject(value)) return mergedMap(document, node, value);
  if (isSeq(node) && Array.isArray(value)) return mergedList(document, node, value);
  if (isScalar(node) && (typeof value !== "object" || value === null)) {
    if (node.value === value) return node;
    const scalar = new Scalar(value);
    const { comment, commentBefore, spaceBefore } = node;
    Object.assign(scalar, { comment, commentBefore, spaceBefore });
    return scalar;
  }
  return document.createNode(value);
}

function mergedMap(document: Document, map: YAMLMap, value: Readonly<Record<string, unknown>>): YAMLMap {
  const nameOf = (key: unknown): string => String(isScalar(key) ? key.value : key);
  map.items = map.items.filter(({ key }) => value[nameOf(key)] !== undefined);
  const known = new Map(map.items.map((pair) => [nameOf(pair.key), pair]));
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    const pair = known.get(name);
    if (pair === undefined) map.items.push(document.createPair(name, field));
    else pair.value = merged(document, pair.value, field);
  }
  // An empty flow map that gains fields reads better as a block.
  if (known.size === 0) map.flow = Object.keys(value).length === 0;
  return map;
}

/** Entries that are the same at the beginning and at the end keep their nodes; those between are gone through in order. */
function mergedList(document: Document, list: YAMLSeq, value: readonly unknown[]): YAMLSeq {
  const nodes = list.items;
  const says = (at: number, entry: unknown): boolean => {
    const node = nodes[at];
    return isNodeLike(node) && sameValue(node.toJS(document), entry);
  };
  let head = 0;
  while (head < Math.min(nodes.length, value.length) && says(head, value[head])) head++;
  let tail = 0;
  while (
    tail < Math.min(nodes.length, value.length) - head &&
    says(nodes.length - 1 - tail, value[value.length - 1 - tail])
  )
    tail++;
  const before = nodes.slice(head, nodes.length - tail);
  const between = value.slice(head, value.length - tail).map((entry, i) => merged(document, before[i], entry));
  if (nodes.length === 0) list.flow = value.length === 0;
  list.items = [...nodes.slice(0, head), ...between, ...nodes.slice(nodes.length - tail)];
  return list;
}

function isNodeLike(node: unknown): node is Node {
  return isMap(node) || isSeq(node) || isScalar(node);
}
