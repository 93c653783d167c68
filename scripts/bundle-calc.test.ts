import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Browser, skipWithoutBrowser } from "../e2e/src/console/browser.ts";
import { convertResources, loadManifests } from "../packages/datastore/src/index.ts";
import { formatValue } from "../packages/model/src/index.ts";
import { bundleCalc } from "./bundle-calc.ts";

const ROOT = join(import.meta.dirname, "..");
const SHOP = join(ROOT, "packages/ctl/testdata/shop");

const directory = mkdtempSync(join(tmpdir(), "bulrush-bundle-"));
after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

interface Answer {
  readonly verdict: string;
  readonly egress?: { readonly verdict: string; readonly policy: string; readonly rule: number | null };
  readonly ingress?: {
    readonly verdict: string;
    readonly tier: string;
    readonly policy: string;
    readonly rule: number | null;
    readonly next?: { readonly verdict: string };
    readonly steps: readonly { readonly why: string }[];
  };
}

/** The text of a page's `out` element after its scripts have run. */
async function outOf(page: string): Promise<string> {
  const browser = await Browser.start();
  try {
    await browser.open(`file://${page}`);
    await browser.until("document.getElementById('out')?.textContent");
    return await browser.evaluate("document.getElementById('out').textContent");
  } finally {
    await browser.stop();
  }
}

test("the bundle has the pure packages only", async () => {
  const { inputs, text } = await bundleCalc();
  assert.ok(inputs.some((input) => input === "packages/calc/src/explain/explainer.ts"));
  const known =
    /^(?:packages\/(?:base|ip|selector|model|calc)\/src\/|node_modules\/\.pnpm\/@noble\+hashes|packages\/ctl\/bundle-calc-entry\.js$)/;
  assert.deepEqual(
    inputs.filter((input) => !known.test(input)),
    [],
  );
  assert.doesNotMatch(text, /["'`]node:|\brequire\(/);
  assert.ok(text.length < 400_000, `${text.length} bytes`);
});

test("a snapshot is loaded and explained in a browser", { skip: skipWithoutBrowser() }, async () => {
  const { updates } = convertResources((await loadManifests(SHOP)).resources);
  const snapshot = updates.map(({ path, value }) => ({
    key: path,
    value: value === undefined ? null : (JSON.parse(formatValue(value)) as unknown),
  }));
  const flows = [
    { source: { workload: "shop/web" }, destination: { workload: "shop/db" }, protocol: "tcp", port: 5432 },
    { source: { workload: "other/guest" }, destination: { workload: "shop/db" }, protocol: "tcp", port: 5432 },
    { source: { workload: "shop/web" }, destination: { address: "169.254.169.254" }, protocol: "tcp", port: 80 },
  ];
  const inScript = (value: unknown): string => JSON.stringify(value).replaceAll("<", String.raw`\u003c`);
  writeFileSync(join(directory, "bulrush.js"), (await bundleCalc()).text);
  writeFileSync(
    join(directory, "page.html"),
    `<!doctype html><meta charset="utf-8"><pre id="out"></pre><script src="bulrush.js"></script><script>
let text;
try {
  const explainer = new bulrush.Explainer();
  explainer.update(${inScript(snapshot)}.map(({ key, value }) => bulrush.updateOf(key, value)));
  text = JSON.stringify(${inScript(flows)}.map((flow) => explainer.explain(flow, true)));
} catch (error) {
  text = JSON.stringify({ error: String(error), stack: error.stack });
}
document.getElementById("out").textContent = text;
</script>`,
  );
  const out = await outOf(join(directory, "page.html"));
  const answers = JSON.parse(out) as readonly Answer[];
  assert.ok(Array.isArray(answers), out);
  const [allowed, refused, metadata] = answers;
  assert.equal(allowed?.verdict, "allow");
  assert.deepEqual(
    [allowed?.ingress?.verdict, allowed?.ingress?.tier, allowed?.ingress?.policy, allowed?.ingress?.rule],
    ["allow", "default", "KubernetesNetworkPolicy/shop/db-only-from-web", 0],
  );
  assert.equal(allowed?.ingress?.next?.verdict, "deny", "behind the rule is the end of the tier");
  assert.equal(refused?.verdict, "deny");
  assert.match(refused?.ingress?.steps[0]?.why ?? "", /other\/guest: .* does not hold/);
  assert.deepEqual(
    [metadata?.verdict, metadata?.egress?.policy, metadata?.egress?.rule],
    ["deny", "GlobalNetworkPolicy/no-metadata", 0],
  );
});
