import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, skipWithoutBrowser } from "./browser.ts";
import { type ConsoleWorld, startConsoleWorld } from "./console-world.ts";

const CLIENTS = 5;
const skip = skipWithoutBrowser();

let world: ConsoleWorld;
let browser: Browser;
if (skip === false) {
  before(async () => {
    world = await startConsoleWorld(CLIENTS);
    browser = await Browser.start();
    await browser.resize(1280, 900);
  });
  after(async () => {
    await browser.stop();
    await world.stop();
  });
}

const text = (): Promise<string> => browser.evaluate<string>("document.querySelector('main').innerText");

async function openPage(hash: string): Promise<void> {
  // Another address first: a change of the hash alone would not load the page anew.
  await browser.open("about:blank");
  await browser.open(`${world.url}${hash}`);
  await browser.until("document.querySelector('main h1')");
}

test("the clients are listed with their place, found and ordered by keyboard alone", { skip }, async () => {
  await openPage("#/clients");
  await browser.until(`document.querySelectorAll('main tbody tr').length === ${CLIENTS}`);
  assert.match(await text(), /node-0003[\s\S]*felix[\s\S]*bulrush-agent 0\.1\.0/);
  await browser.press("/");
  await browser.type("node-0002");
  await browser.until("document.querySelectorAll('main tbody tr').length === 1");
  assert.match(await text(), /1 of 5/);
  await browser.evaluate("document.querySelector('main input').select()");
  await browser.type("node");
  await browser.until(`document.querySelectorAll('main tbody tr').length === ${CLIENTS}`);
  await browser.evaluate("document.querySelector('th button').focus()");
  await browser.press("Enter");
  await browser.until("document.querySelector('th').getAttribute('aria-sort') === 'ascending'");
  await browser.press("Enter");
  await browser.until("document.querySelector('tbody td').innerText.startsWith('node-0005')");
});

test("the number keys go to the pages, but not while somebody types", { skip }, async () => {
  await openPage("");
  await browser.press("2");
  await browser.until("location.hash === '#/limit' && document.querySelector('h1').innerText === 'Limit'");
  await browser.until("document.querySelector('[name=typhas]')");
  await browser.press("/");
  await browser.press("3");
  assert.equal(await browser.evaluate("location.hash"), "#/limit");
  await browser.evaluate("document.activeElement.blur()");
  await browser.press("3");
  await browser.until("document.querySelector('h1').innerText === 'Streams'");
  await browser.until("document.body.innerText.includes('GlobalNetworkPolicy')");
  assert.match(await text(), /felix in-sync/);
});

test("what if: the limit is the one that the server works out", { skip }, async () => {
  await openPage("#/limit");
  await browser.until("document.querySelector('[name=typhas]')");
  for (const [name, value] of [
    ["typhas", "7"],
    ["nodes", "1000"],
  ] as const) {
    await browser.evaluate(`document.querySelector('[name=${name}]').focus()`);
    await browser.evaluate(`document.querySelector('[name=${name}]').select()`);
    await browser.type(value);
  }
  // 4 * (1 + floor(1.2 * 1000 / 6)) is 804.
  await browser.until("/Limit would be\\s+804/.test(document.body.innerText)");
  await browser.evaluate("document.querySelector('[name=nodes]').select()");
  await browser.type("1000x");
  await browser.until("document.body.innerText.includes('nodes is not')");
});

test("policies stand in the order of evaluation, with what they apply to", { skip }, async () => {
  await openPage("#/policies");
  await browser.until("document.querySelector('.policies')");
  const all = await text();
  assert.ok(all.indexOf("Tier platform") < all.indexOf("Tier default"), all);
  assert.match(all, /NetworkPolicy\/shop\/backend-to-db order 100\s+applies to 1\b/);
  await openPage("#/policies?policy=NetworkPolicy%2Fshop%2Fbackend-to-db");
  await browser.until("document.querySelector('details[open]')");
  assert.match(await text(), /Selects .*\n[\s\S]*Ingress[\s\S]*allow tcp from/);
});

test("a blocked connection is explained on the live snapshot, and again after a change", { skip }, async () => {
  await openPage("#/explain");
  await browser.until("document.querySelector('[name=from]')");
  for (const [name, value] of [
    ["from", "shop/web"],
    ["to", "shop/db"],
    ["port", "5432"],
  ] as const) {
    await browser.evaluate(`document.querySelector('[name=${name}]').focus()`);
    await browser.type(value);
  }
  await browser.press("Enter");
  await browser.until("document.querySelector('.steps')");
  assert.match(await text(), /deny\s+shop\/web → shop\/db\s+tcp 5432/);
  assert.match(await text(), /NetworkPolicy\/shop\/backend-to-db, rule 0[\s\S]*not-matched/);
  assert.equal(await browser.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('to')"), "shop/db");
  writeFileSync(
    join(world.directory, "99-open.yaml"),
    JSON.stringify({
      apiVersion: "projectcalico.org/v3",
      kind: "NetworkPolicy",
      metadata: { name: "open", namespace: "shop" },
      spec: { order: 1, selector: "app == 'db'", types: ["Ingress"], ingress: [{ action: "Allow" }] },
    }),
  );
  // The server sees the file in its own time: the page is asked until it has it.
  await browser.until(`(() => {
    if (document.querySelector('main h2 .tag')?.innerText === 'allow') return true;
    const again = document.querySelector('.bar button');
    if (!again.disabled) again.click();
    return false;
  })()`);
  assert.match(await text(), /by NetworkPolicy\/shop\/open, rule 0/);
});

test("what cannot be asked is said", { skip }, async () => {
  await openPage("#/explain?from=shop%2Fnobody&to=shop%2Fdb&protocol=tcp&port=1");
  await browser.until("document.body.innerText.includes('Unknown pod \"shop/nobody\"')");
});

test("light and dark follow the system until the button says otherwise", { skip }, async () => {
  await openPage("#/streams");
  const back = (): Promise<string> => browser.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  await browser.useColours("light");
  const light = await back();
  await browser.useColours("dark");
  const dark = await back();
  assert.notEqual(light, dark);
  await browser.evaluate("document.querySelector('header button').click()");
  await browser.until(`getComputedStyle(document.documentElement).backgroundColor === ${JSON.stringify(light)}`);
  await browser.evaluate("localStorage.clear()");
});

test("nothing is wider than a narrow window", { skip }, async () => {
  await browser.resize(360, 740);
  for (const hash of ["#/clients", "#/limit", "#/streams", "#/policies"]) {
    await openPage(hash);
    await browser.until("document.querySelector('main dl, main ol, main table, main .bar')");
    const wide = await browser.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(wide <= 360, `${hash} is ${wide} wide`);
  }
});
