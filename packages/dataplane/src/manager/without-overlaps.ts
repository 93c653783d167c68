import { type Cidr, compareCidrs, containsCidr, formatCidr, maskCidr, parseCidr } from "@bulrush/ip";

/** The networks that no other one of the list contains: the kernel refuses overlapping members of a set. */
export function withoutOverlaps(texts: readonly string[]): string[] {
  const cidrs: Cidr[] = [];
  for (const text of texts) {
    const cidr = parseCidr(text);
    if (cidr !== undefined) cidrs.push(maskCidr(cidr));
  }
  const kept: Cidr[] = [];
  for (const cidr of cidrs.sort(compareCidrs)) {
    const last = kept.at(-1);
    if (last === undefined || !containsCidr(last, cidr)) kept.push(cidr);
  }
  return kept.map(formatCidr);
}
