/** What the documentation names is there: files, headings, settings, metrics, codes, commands; what can be run is run. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { FELIX_CONFIG } from "@bulrush/agent";
import { DATASTORE_ERROR_CODES } from "@bulrush/datastore";
import { TYPHA_TABLE } from "@bulrush/typha";
import { SCENARIOS } from "../scenario/registry.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const PAGES = [...globSync("docs/*.md", { cwd: ROOT }), "deploy/README.md", "README.md"].sort();
const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** Every match of a pattern's first group, with the page. */
function found(pattern: RegExp): readonly (readonly [page: string, text: string])[] {
  return PAGES.flatMap((page) => [...textOf(page).matchAll(pattern)].map(([, text = ""]) => [page, text] as const));
}

/** The lines of the fenced blocks of a language, continuation lines joined. */
function blocks(...languages: readonly string[]): readonly (readonly [page: string, line: string])[] {
  return found(new RegExp(`^ *\`\`\`(?:${languages.join("|")})\\n([^]*?)^ *\`\`\`$`, "gm")).flatMap(([page, block]) =>
    block
      .replaceAll("\\\n", " ")
      .split("\n")
      .map((line) => [page, line.replace(/#.*/, "").trim()] as const)
      .filter(([, line]) => line !== ""),
  );
}

/** As GitHub makes them of headings. */
function anchorsOf(file: string): ReadonlySet<string> {
  const headings = [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("every page that was asked for is there", () => {
  for (const name of [
    "getting-started",
    "operations",
    "from-calico",
    "troubleshooting",
    "configuration",
    "protocol",
    "architecture",
    "limits",
  ])
    assert.ok(PAGES.includes(`docs/${name}.md`), name);
});

test("every link leads somewhere", () => {
  const links = found(/\]\(([^)\s]+)\)/g).filter(([, link]) => !/^[a-z]+:/.test(link));
  assert.ok(links.length > 20);
  for (const [page, link] of links) {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
    assert.ok(existsSync(target), `${page}: ${link}`);
    if (anchor !== undefined) assert.ok(anchorsOf(target).has(anchor), `${page}: ${link}`);
  }
});

test("every path of this repository is there", () => {
  const paths = found(/\b((?:deploy|e2e|packages|proto|scripts|docs)\/[\w./-]*[\w/])/g);
  for (const [page, path] of paths)
    assert.ok(existsSync(join(ROOT, path)) || path.includes("/dist"), `${page}: ${path}`);
});

test("every setting is one", () => {
  const known = new Set([
    ...Object.keys(TYPHA_TABLE).map((name) => `TYPHA_${name.toUpperCase()}`),
    ...Object.keys(FELIX_CONFIG).map((name) => `FELIX_${name.toUpperCase()}`),
  ]);
  const settings = found(/\b((?:TYPHA|FELIX)_[A-Z0-9]+)\b(?![*_])/g);
  assert.ok(settings.length > 20);
  for (const [page, name] of settings) assert.ok(known.has(name), `${page}: ${name}`);
});

/** Metrics of others, of which a page says that we have none. */
function absentMetrics(): readonly string[] {
  const section = /^## Metrics that are not here\n([^]*?)^## /m.exec(textOf("docs/from-calico.md"))?.[1] ?? "";
  const firstCells = section.split("\n").flatMap((line) => /^\| (`[^|]*) \|/.exec(line)?.[1] ?? []);
  return firstCells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = ""]) => name));
}

/** The sources of what ships, without tests. */
function sources(): string {
  const files = globSync("packages/*/{src,bin}/**/*.ts", { cwd: ROOT }).filter((file) => !file.includes(".test."));
  return files.map((file) => textOf(file)).join("\n");
}

test("every variable of ours, and every metric, stands in the code", () => {
  const code = sources();
  for (const [page, name] of found(/\b(BULRUSH_[A-Z_]+)\b/g)) assert.ok(code.includes(name), `${page}: ${name}`);
  const metrics = found(/`((?:typha|felix|bulrush|process|nodejs)_[a-z_]+)`/g).filter(
    ([, name]) => !name.endsWith("_"),
  );
  assert.ok(metrics.length > 12);
  const absent = absentMetrics();
  assert.ok(absent.length > 10);
  for (const [page, name] of metrics)
    assert.equal(new RegExp(`\\b${name}\\b`).test(code), !absent.includes(name), `${page}: ${name}`);
});

/** "16 MiB" and "10,000" as numbers. */
function boundOf(text: string): number {
  const [, number = "", unit = ""] = /([\d,]+)(?: ([KMG]iB))?/.exec(text) ?? [];
  const shift = { "": 0, KiB: 10, MiB: 20, GiB: 30 }[unit] ?? Number.NaN;
  return Number(number.replaceAll(",", "")) * 2 ** shift;
}

test("the bounds of limits.md are those of the code", () => {
  const rows = [...textOf("docs/limits.md").matchAll(/^\| (.+?) \| (.+?) \| .* \| `(\S+)` `(\w+)` \|$/gm)];
  assert.ok(rows.length > 35);
  for (const [, what = "", bound = "", file = "", name = ""] of rows) {
    // A constant, or a field of the first object that has it: digits, products and shifts.
    const found = new RegExp(`\\b${name}(?:: number)?(?: =|:) ([\\d_]+(?: (?:\\*|<<) [\\d_]+)*)`).exec(textOf(file));
    const [first = "", ...rest] = (found?.[1] ?? "").replaceAll("_", "").split(" ");
    let value = Number(first);
    for (let i = 0; i < rest.length; i += 2)
      value = rest[i] === "*" ? value * Number(rest[i + 1]) : value * 2 ** Number(rest[i + 1]);
    assert.equal(boundOf(bound), value, `${what}: ${bound}, in ${file} ${name} ${found?.[1] ?? "not there"}`);
  }
});

test("every code is one of those that programs give", () => {
  const codes = found(/`(DATASTORE_[A-Z_]+)`/g).filter(([, code]) => !["DATASTORE_TYPE"].includes(code));
  assert.ok(codes.length > 2);
  for (const [page, code] of codes)
    assert.ok((DATASTORE_ERROR_CODES as readonly string[]).includes(code), `${page}: ${code}`);
  const words = [
    "fell-behind",
    "pong-timeout",
    "stale",
    "rebalancing",
    "draining",
    "identity",
    "too-many-connections",
    "unsupported-version",
  ];
  const protocol = textOf("proto/README.md");
  for (const word of words) {
    assert.ok(textOf("docs/troubleshooting.md").includes(`\`${word}\``), word);
    assert.ok(protocol.includes(word), word);
  }
});

test("every subcommand, script and scenario is one", () => {
  const help = execFileSync(join(ROOT, "node_modules", ".bin", "bulrushctl"), ["--help"], { encoding: "utf8" });
  for (const [page, command] of found(/\bbulrushctl ([a-z][a-z-]+)\b/g))
    assert.match(help, new RegExp(`^ +${command}\\b`, "m"), `${page}: bulrushctl ${command}`);
  const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Readonly<Record<string, string>> };
  for (const [page, name] of found(/\bnpm run ([a-z][a-z0-9:]*)/g))
    assert.ok(name in scripts, `${page}: npm run ${name}`);
  for (const [page, name] of found(/\bnpm run e2e -- ([a-z][a-z-]+)/g))
    assert.ok(
      SCENARIOS.some((scenario) => scenario.name === name),
      `${page}: ${name}`,
    );
});

test("every kustomization and chart that commands name is one", () => {
  for (const [page, line] of blocks("console", "sh")) {
    const path = /(?:-k|helm install \S+) (deploy\/\S+)/.exec(line)?.[1];
    if (path === undefined) continue;
    const names = readdirSync(join(ROOT, path));
    assert.ok(names.includes("kustomization.yaml") || names.includes("Chart.yaml"), `${page}: ${path}`);
  }
});

test("commands that need nothing but a clone work as they stand", () => {
  const commands = blocks("sh").filter(([, line]) => line.startsWith("node_modules/.bin/bulrushctl "));
  assert.ok(commands.length > 2);
  for (const [page, line] of commands) {
    const { status, stderr } = spawnSync("sh", ["-c", line], { cwd: ROOT, encoding: "utf8" });
    assert.equal(status, 0, `${page}: ${line}\n${stderr}`);
  }
  // The others of these blocks are the two that the README begins with, and what only starts them.
  for (const [page, line] of blocks("sh"))
    assert.match(line, /^(?:npm (?:start|test)\b|node_modules\/\.bin\/)/, `${page}: ${line}`);
});

test("manifests of the pages are good, and give no warning", () => {
  const manifests = found(/^```yaml\n([^]*?)^```$/gm).filter(([, text]) => text.includes("apiVersion:"));
  assert.ok(manifests.length > 0);
  const program = join(ROOT, "node_modules", ".bin", "bulrushctl");
  for (const [page, text] of manifests) {
    const { status, stderr } = spawnSync(program, ["validate", "-f", "-"], { input: text, encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""], page);
  }
});

test("the ports are those of the settings", () => {
  const table = textOf("docs/configuration.md");
  const ports: Readonly<Record<string, number>> = {
    TYPHA_SERVERPORT: 5473,
    TYPHA_HEALTHPORT: TYPHA_TABLE.HealthPort.default,
    TYPHA_PROMETHEUSMETRICSPORT: TYPHA_TABLE.PrometheusMetricsPort.default,
    TYPHA_ADMINPORT: TYPHA_TABLE.AdminPort.default,
    FELIX_HEALTHPORT: FELIX_CONFIG.HealthPort.default,
    FELIX_PROMETHEUSMETRICSPORT: FELIX_CONFIG.PrometheusMetricsPort.default,
  };
  for (const [name, port] of Object.entries(ports))
    assert.match(table, new RegExp(`^\\| ${port} \\|.*\\| ${name} \\|$`, "m"));
});
