import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SERVER_CERTIFICATE, SERVER_KEY } from "../src/kubernetes/testing/server-certificate.ts";
import { type Collection, collectionsOf, endOfListText, eventsText, pageText } from "./cluster.ts";

/*
 * node api-server.ts PODS POLICIES: an API server with a cluster of this size, for one process that lists it. Prints
 * its port; on each line of standard input, what it has sent since the line before:
 * {"bytes":{"<path>":<bytes of all answers>},"full":{"<path>":<bytes of the list in one answer>}}.
 */

const EVENTS_A_WRITE = 50;

const [pods = 0, policies = 0] = process.argv.slice(2).map(Number);
const collections = new Map(collectionsOf({ pods, policies }).map((one) => [one.path, one]));
/** Bytes of all answers, by path. */
const sent = new Map<string, number>();

function send(answer: ServerResponse, path: string, text: string): boolean {
  sent.set(path, (sent.get(path) ?? 0) + Buffer.byteLength(text));
  return answer.write(text);
}

async function serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "https://127.0.0.1");
  answer.setHeader("content-type", "application/json");
  if (path === "/version") answer.end('{"major":"1","minor":"36"}');
  else if (path === "/apis") answer.end('{"kind":"APIGroupList","groups":[{"name":"crd.projectcalico.org"}]}');
  else {
    const collection = collections.get(path) ?? { path, apiVersion: "v1", kind: "Thing", count: 0, make: () => ({}) };
    if (query.get("watch") === null) {
      send(
        answer,
        path,
        pageText(collection, Number(query.get("continue") ?? 0), Number(query.get("limit") ?? Infinity)),
      );
      answer.end();
    } else {
      answer.flushHeaders();
      if (query.get("sendInitialEvents") === "true") await streamList(answer, collection);
    }
  }
}

async function streamList(answer: ServerResponse, collection: Collection): Promise<void> {
  for (let n = 0; n < collection.count; n += EVENTS_A_WRITE) {
    send(answer, collection.path, eventsText(collection, n, EVENTS_A_WRITE));
    while (answer.writableNeedDrain && !answer.destroyed) await sleep(1);
  }
  send(answer, collection.path, endOfListText(collection));
}

const server = createServer({ key: SERVER_KEY, cert: SERVER_CERTIFICATE }, (request, answer) => {
  void serve(request, answer);
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.on("data", () => {
  console.log(JSON.stringify(Object.fromEntries(sent)));
  sent.clear();
});
process.stdin.on("end", () => process.exit(0));
