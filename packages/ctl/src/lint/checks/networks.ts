import { type Cidr, containsCidr, formatCidr, isMasked, maskCidr, parseCidr } from "@bulrush/ip";
import type { ManifestResource } from "@bulrush/datastore";
import { isObject, type JsonObject } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import type { Warning } from "../warning.ts";

/** A network where it was written. */
interface Written {
  readonly field: string;
  readonly text: string;
}

/** Networks that are surely meant otherwise. */
export function* networkWarnings({ resources }: LintContext): Iterable<Warning> {
  for (const entry of resources) {
    for (const { field, text } of networksOf(entry.resource.spec)) {
      const cidr = parseCidr(text);
      if (cidr === undefined) continue;
      if (!isMasked(cidr)) yield unmasked(entry, field, text, cidr);
      else if (isOddZero(cidr)) yield oddZero(entry, field, text);
    }
    yield* exceptWarnings(entry);
  }
}

/** Fields that hold networks, in whatever kind and depth. */
const NETWORK_FIELDS: ReadonlySet<string> = new Set(["nets", "notNets", "networks", "except", "cidr", "reservedCIDRs"]);

function* networksOf(value: unknown, path = "spec", depth = 0): Iterable<Written> {
  if (depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* networksOf(item, `${path}[${i}]`, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, field] of Object.entries(value)) {
    const at = `${path}.${name}`;
    if (!NETWORK_FIELDS.has(name)) yield* networksOf(field, at, depth + 1);
    else if (typeof field === "string") yield { field: at, text: field };
    else if (Array.isArray(field))
      for (const [i, text] of field.entries()) if (typeof text === "string") yield { field: `${at}[${i}]`, text };
  }
}

/** No kind nests networks deeper. */
const MAX_DEPTH = 8;

function unmasked(entry: ManifestResource, field: string, text: string, cidr: Cidr): Warning {
  const whole = formatCidr(maskCidr(cidr));
  const message = `"${text}" has host bits and counts as ${whole}; for the one address leave the length out`;
  return { code: "unmasked-network", entry, field, message };
}

/** 0.0.0.0/0 is everything, /1 to /8 halves and what is reserved; longer ones are the slip of who meant everything. */
function isOddZero({ family, words, prefixLength }: Cidr): boolean {
  if (words.some((word) => word !== 0)) return false;
  return family === 4 ? prefixLength > 8 && prefixLength < 32 : prefixLength > 8 && prefixLength <= 64;
}

function oddZero(entry: ManifestResource, field: string, text: string): Warning {
  const all = text.includes(":") ? "::/0" : "0.0.0.0/0";
  const message = `"${text}" holds next to no address that is used; everything is ${all}`;
  return { code: "zero-address-network", entry, field, message };
}

/** `notNets` that take nothing out of `nets`. */
function* exceptWarnings(entry: ManifestResource): Iterable<Warning> {
  const { spec } = entry.resource;
  if (!isObject(spec)) return;
  for (const direction of ["ingress", "egress"]) {
    const rules = Array.isArray(spec[direction]) ? (spec[direction] as unknown[]) : [];
    for (const [i, rule] of rules.entries()) {
      if (!isObject(rule)) continue;
      for (const side of ["source", "destination"])
        yield* exceptOf(entry, rule[side], `spec.${direction}[${i}].${side}`);
    }
  }
}

function* exceptOf(entry: ManifestResource, value: unknown, path: string): Iterable<Warning> {
  if (!isObject(value)) return;
  const nets = cidrsOf(value, "nets").map(({ cidr }) => cidr);
  if (nets.length === 0) return;
  for (const { index, text, cidr } of cidrsOf(value, "notNets")) {
    const touches = nets.some((net) => containsCidr(net, cidr) || containsCidr(cidr, net));
    if (touches) continue;
    const message = `"${text}" is in none of the nets, so nothing is taken out of them`;
    yield { code: "except-outside", entry, field: `${path}.notNets[${index}]`, message };
  }
}

function cidrsOf(entity: JsonObject, name: string): { index: number; text: string; cidr: Cidr }[] {
  const list = Array.isArray(entity[name]) ? (entity[name] as unknown[]) : [];
  return list.flatMap((text, index) => {
    const cidr = typeof text === "string" ? parseCidr(text) : undefined;
    return cidr === undefined ? [] : [{ index, text: text as string, cidr: maskCidr(cidr) }];
  });
}
