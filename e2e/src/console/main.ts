import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Browser } from "./browser.ts";
import { startConsoleWorld } from "./console-world.ts";

const HELP = `Usage: node --conditions=bulrush-source e2e/src/console/main.ts [--clients N] DIRECTORY

Takes pictures of every page of the console, light and dark, wide and narrow, on the sample cluster with N clients
(default 5), into a directory.
`;

const PAGES = ["clients", "limit", "streams", "policies", "explain?from=shop%2Fweb&to=shop%2Fdb&protocol=tcp&port=80"];
const SIZES = { wide: [1280, 900], narrow: [400, 800] } as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { clients: { type: "string", default: "5" }, help: { type: "boolean", short: "h", default: false } },
});
const [directory] = positionals;
if (values.help || directory === undefined) {
  process.stdout.write(HELP);
} else {
  mkdirSync(directory, { recursive: true });
  const world = await startConsoleWorld(Number(values.clients));
  const browser = await Browser.start();
  try {
    for (const page of PAGES)
      for (const scheme of ["light", "dark"] as const)
        for (const [size, [width, height]] of Object.entries(SIZES)) {
          await browser.useColours(scheme);
          await browser.resize(width, height);
          await browser.open("about:blank");
          await browser.open(`${world.url}#/${page}`);
          await browser.until("document.querySelector('main h1') && !document.body.innerText.includes('Reading')");
          if (page.startsWith("clients"))
            await browser.until(
              `document.querySelector('.figures dd')?.innerText === (${Number(values.clients)}).toLocaleString("en-US")`,
            );
          if (page === "policies") await browser.until("document.querySelector('.policies')");
          if (page.startsWith("explain")) await browser.until("document.querySelector('.steps')");
          const name = `${page.replace(/\?.*/, "")}-${scheme}-${size}.png`;
          writeFileSync(join(directory, name), await browser.screenshot());
          process.stdout.write(`${join(directory, name)}\n`);
        }
  } finally {
    await browser.stop();
    await world.stop();
  }
}
