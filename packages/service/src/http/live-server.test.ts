import assert from "node:assert/strict";
import { test } from "node:test";
import { liveServer } from "./live-server.ts";

function rig() {
  const log: string[] = [];
  const server = liveServer<{ readonly port: number }>(({ port }) => {
    if (port === 0) return undefined;
    log.push(`open ${port}`);
    return {
      listening: Promise.resolve({ address: "", family: "", port }),
      close: () => {
        log.push(`close ${port}`);
        return Promise.resolve();
      },
    };
  });
  return { log, server };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("liveServer() closes the old server before it makes another, and only where something differs", async () => {
  const { log, server } = rig();
  server.update({ port: 1 });
  await settled();
  server.update({ port: 1 });
  await settled();
  assert.deepEqual(log, ["open 1"]);
  server.update({ port: 2 });
  await settled();
  assert.deepEqual(log, ["open 1", "close 1", "open 2"]);
  server.update({ port: 0 });
  await settled();
  assert.deepEqual(log.slice(3), ["close 2"]);
  await server.close();
});

test("liveServer() passes over settings that others have replaced, and makes none once it is closed", async () => {
  const { log, server } = rig();
  server.update({ port: 1 });
  server.update({ port: 2 });
  await settled();
  assert.deepEqual(log, ["open 2"]);
  server.update({ port: 3 });
  await server.close();
  server.update({ port: 4 });
  await settled();
  assert.deepEqual(log, ["open 2", "close 2"]);
});
