import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addressBytes,
  addressFromBytes,
  canonicalCidr,
  type Cidr,
  CidrTrie,
  compareCidrs,
  containsCidr,
  formatAddress,
  formatCidr,
  lastAddress,
  maskCidr,
  parseAddress,
  parseCidr,
} from "./index.ts";

const ADDRESSES: readonly (readonly [string, string | undefined])[] = [
  ["10.0.0.1", "10.0.0.1"],
  ["255.255.255.255", "255.255.255.255"],
  ["10.0.0", undefined],
  ["10.0.0.256", undefined],
  ["10.0.0.01", undefined],
  ["10.2402.0.0", undefined],
  ["10.0.0.1.", undefined],
  ["", undefined],
  ["::", "::"],
  ["::1", "::1"],
  ["fe80:0:0:0:0:0:0:1", "fe80::1"],
  ["FD00:0:0:1::", "fd00:0:0:1::"],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
  ["1::2::3", undefined],
  ["1:2:3:4:5:6:7:8:9", undefined],
  ["12345::", undefined],
  ["::1%eth0", undefined],
  ["1.2.3.4::", undefined],
  ["1:2:3:4:5:6:7:1.2.3.4", undefined],
  ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
  ["1:2:3:4:5:6:7:", undefined],
  [":1:2:3:4:5:6:7", undefined],
  [":::", undefined],
  ["1:2:3:4::5:6:7:8", undefined],
  ["1:2:3::5:6:7:8", "1:2:3:0:5:6:7:8"],
  ["00001::", undefined],
];

for (const [text, want] of ADDRESSES) {
  test(`parseAddress() reads ${JSON.stringify(text)} as ${want ?? "nothing"}`, () => {
    const address = parseAddress(text);
    assert.equal(address === undefined ? undefined : formatAddress(address), want);
  });
}

const CIDRS: readonly (readonly [string, string | undefined])[] = [
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["10.1.2.3", "10.1.2.3/32"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["192.168.4.10/16", "192.168.0.0/16"],
  ["10.0.0.0/33", undefined],
  ["10.0.0.0/", undefined],
  ["10.0.0.0/08", undefined],
  ["10.0.0.0/-1", undefined],
  ["feed:beef::1/64", "feed:beef::/64"],
  ["::/0", "::/0"],
  ["::1/129", undefined],
  ["/55", undefined],
];

for (const [text, want] of CIDRS) {
  test(`canonicalCidr() makes ${want ?? "nothing"} of ${JSON.stringify(text)}`, () => {
    assert.equal(canonicalCidr(text), want);
  });
}

test("lastAddress() is the end of the range", () => {
  assert.equal(formatAddress(lastAddress(parseCidr("10.0.0.0/23") as Cidr)), "10.0.1.255");
  assert.equal(formatAddress(lastAddress(parseCidr("fd00::/64") as Cidr)), "fd00::ffff:ffff:ffff:ffff");
});

const anyCidr = fc
  .oneof(
    fc.tuple(
      fc.constant(4 as const),
      fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 1, maxLength: 1 }),
      fc.integer({ min: 0, max: 32 }),
    ),
    fc.tuple(
      fc.constant(6 as const),
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 }),
      fc.integer({ min: 0, max: 128 }),
    ),
  )
  .map(
    ([family, low, prefixLength]): Cidr =>
      maskCidr({ family, words: low.map((n) => (n * 0x11111111) >>> 0), prefixLength }),
  );

test("formatAddress() and parseAddress() are inverse, and so are the bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0xffffffff), { minLength: 4, maxLength: 4 }), (words) => {
      fc.pre(!(words[0] === 0 && words[1] === 0 && words[2] === 0xffff));
      const address = { family: 6 as const, words };
      assert.deepEqual(parseAddress(formatAddress(address)), address);
      assert.deepEqual(addressFromBytes(addressBytes(address)), address);
    }),
  );
});

test("CidrTrie agrees with a plain list for any sequence of sets and deletes", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), anyCidr), { maxLength: 60 }), anyCidr, (operations, probe) => {
      const trie = new CidrTrie<number>();
      const model = new Map<string, readonly [Cidr, number]>();
      for (const [i, [isSet, cidr]] of operations.entries()) {
        if (cidr.family !== probe.family) continue;
        if (isSet) {
          trie.set(cidr, i);
          model.set(formatCidr(cidr), [cidr, i]);
        } else assert.equal(trie.delete(cidr), model.delete(formatCidr(cidr)));
      }
      const all = [...model.values()].sort((a, b) => compareCidrs(a[0], b[0]));
      assert.equal(trie.size, model.size);
      assert.deepEqual([...trie.entries()], all);
      assert.deepEqual(
        [...trie.descendants(probe)],
        all.filter(([c]) => containsCidr(probe, c)),
      );
      assert.deepEqual(
        [...trie.ancestors(probe)],
        all.filter(([c]) => containsCidr(c, probe)).sort((a, b) => a[0].prefixLength - b[0].prefixLength),
      );
      assert.equal(trie.get(probe), model.get(formatCidr(probe))?.[1]);
      const inside = all.filter(([c]) => containsCidr(probe, c) && c.prefixLength > probe.prefixLength);
      const topmost = inside.filter(
        ([c]) => !inside.some(([o]) => o.prefixLength < c.prefixLength && containsCidr(o, c)),
      );
      assert.deepEqual([...trie.topmostDescendants(probe)], topmost);
    }),
    { numRuns: 300 },
  );
});
