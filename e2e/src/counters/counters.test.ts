import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { labTests } from "../lab/lab-test.ts";

const CTL = join(import.meta.dirname, "..", "..", "..", "packages", "ctl", "bin", "bulrushctl.ts");

/** A piece of a ruleset as the agent writes it, with counts. */
const RULESET = `
table ip calico {
  chain filter-cali-pi-gnp/web {
    tcp dport 80 counter packets 3 bytes 180 accept comment "rule 0"
    tcp dport 81 counter packets 0 bytes 0 accept comment "rule 1"
  }
  chain filter-cali-tw-calia {
    meta mark set 0 comment "Start of tier security"
    jump filter-cali-pi-gnp/web
    counter packets 2 bytes 120 drop comment "End of tier security"
  }
}`;

function counters(...words: readonly string[]): string[] {
  const argv = ["--conditions=bulrush-source", CTL, "counters", ...words];
  return execFileSync(process.execPath, argv, { encoding: "utf8" }).trimEnd().split("\n");
}

labTests(import.meta.filename, () => {
  test("bulrushctl counters prints what the rules of a host have counted, by tier, policy and rule", () => {
    assert.equal(counters().length, 1);
    execFileSync("nft", ["-f", "-"], { input: RULESET });
    assert.deepEqual(
      counters().map((line) => line.split(/ {3,}/)),
      [
        ["TIER", "POLICY", "DIRECTION", "RULE", "PACKETS", "BYTES"],
        ["security", "-", "ingress", "End of tier security", "2", "120"],
        ["security", "gnp/web", "ingress", "rule 0", "3", "180"],
      ],
    );
    const all = counters("--all", "--json").map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(all.length, 3);
    const last = { tier: "security", policy: "gnp/web", direction: "ingress", rule: "rule 1", packets: 0, bytes: 0 };
    assert.deepEqual(all[2], last);
  });
});
