/**
 * Prints the CPU milliseconds for 100,000 writes of 600 bytes over loopback TCP, both ends in this process: the median of
 * five. By it, figures of one machine are scaled to another for work that is mostly small writes.
 */
import { connect, createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { median } from "./row.ts";

async function manySmallWrites(): Promise<void> {
  const server = createServer((socket) => socket.resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const frame = Buffer.alloc(600);
  for (let i = 0; i < 1000; i++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (let k = 0; k < 99; k++) socket.write(frame);
    socket.write(frame, () => setImmediate(resolve));
    await promise;
  }
  socket.destroy();
  server.close();
}

const runs: number[] = [];
for (let i = 0; i < 5; i++) {
  const before = process.cpuUsage();
  await manySmallWrites();
  const { user, system } = process.cpuUsage(before);
  runs.push((user + system) / 1000);
}
process.stdout.write(`${median(runs)}\n`);
