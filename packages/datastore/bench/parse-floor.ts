import { get } from "node:https";
import { collectionsOf } from "./cluster.ts";
import { cpuMs } from "./cpu.ts";

/*
 * node parse-floor.ts PORT PODS POLICIES: fetches every page of the cluster and parses it, keeping nothing. Prints
 * {"cpuMs","bytes"}: what `JSON.parse` alone took, and of how much.
 */

const PAGE = 500;

const [port = 0, pods = 0, policies = 0] = process.argv.slice(2).map(Number);

function page(path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = get(`https://127.0.0.1:${port}${path}`, { rejectUnauthorized: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => resolve(Buffer.concat(chunks)));
    });
    request.on("error", reject);
  });
}

let floorMs = 0;
let bytes = 0;
for (const { path, count } of collectionsOf({ pods, policies })) {
  for (let start = 0; start < count; start += PAGE) {
    const body = await page(`${path}?limit=${PAGE}&continue=${start}`);
    const text = body.toString("latin1");
    const before = cpuMs();
    JSON.parse(text);
    floorMs += cpuMs() - before;
    bytes += body.length;
  }
}
console.log(JSON.stringify({ cpuMs: floorMs, bytes }));
