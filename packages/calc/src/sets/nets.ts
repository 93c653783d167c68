import { cidrOf, formatCidr, maskCidr, parseAddress, parseCidr } from "@bulrush/ip";

/** What an IP set member of a network that takes in everything is split into: the kernel has no interval for all. */
const HALVES: Readonly<Record<4 | 6, readonly [string, string]>> = {
  4: ["0.0.0.0/1", "128.0.0.0/1"],
  6: ["::/1", "8000::/1"],
};

export const NO_NETS: readonly string[] = [];

/** The addresses of networks, each as a network of one. Bad text is left out. No entry twice. */
export function hostNets(...lists: readonly (readonly string[])[]): readonly string[] {
  const out: string[] = [];
  for (const list of lists)
    for (const text of list) {
      const slash = text.indexOf("/");
      const address = parseAddress(slash < 0 ? text : text.slice(0, slash));
      if (address === undefined) continue;
      // IPv4 text that can be read is canonical: there is one way to write it.
      const isCanonical =
        address.family === 4 && text.length === slash + 3 && text.endsWith("/32") && !text.includes(":");
      push(out, text, isCanonical ? text : formatCidr(cidrOf(address)));
    }
  // A copy has exactly the length it needs: one is kept for every endpoint of the cluster.
  return out.length === 0 ? NO_NETS : out.slice();
}

/** Networks in canonical text, masked, one for everything in two halves. Bad text is left out. No entry twice. */
export function maskedNets(list: readonly string[]): readonly string[] {
  const out = new Set<string>();
  for (const text of list) {
    const cidr = parseCidr(text);
    if (cidr === undefined) continue;
    if (cidr.prefixLength === 0) for (const half of HALVES[cidr.family]) out.add(half);
    else out.add(formatCidr(maskCidr(cidr)));
  }
  return out.size === 0 ? NO_NETS : [...out];
}

/** Keeps the caller's string where it is canonical already: one object less to hold. */
function push(out: string[], text: string, canonical: string): void {
  if (!out.includes(canonical)) out.push(text === canonical ? text : canonical);
}
