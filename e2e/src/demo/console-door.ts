import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * ```
 *   browser ──> localhost:9097 │ relay ──> a socket in the file system ──> relay │ ──> Typha's admin port
 *               this machine's network                                     the demo's own network
 * ```
 * The demo's network cannot be reached from outside; the file system can.
 */
const PREFERRED_PORT = 9097;
const SOCKET_ENV = "BULRUSH_DEMO_DOOR";
const URL_ENV = "BULRUSH_DEMO_CONSOLE";

/** Where the console is seen from outside; undefined where nobody opened a door. */
export function consoleUrl(): string | undefined {
  return process.env[URL_ENV];
}

/**
 * Outside: opens the port on this machine's loopback, another one where it is taken, and leaves word of it in the
 * environment for the process inside. The function that it gives ends it.
 */
export async function openDoorOutside(): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-door-"));
  const path = join(directory, "console.sock");
  const server = createServer((socket) => relay(socket, connect(path)));
  const port = await listen(server, PREFERRED_PORT).catch(() => listen(server, 0));
  process.env[SOCKET_ENV] = path;
  process.env[URL_ENV] = `http://localhost:${port}/`;
  return () => {
    server.close();
    rmSync(directory, { recursive: true, force: true });
  };
}

/** Inside: leads what comes through the door to a port here. Nothing where nobody opened one. */
export function openDoorInside(port: number): void {
  const path = process.env[SOCKET_ENV];
  if (path === undefined) return;
  createServer((socket) => relay(socket, connect({ port, host: "127.0.0.1" })))
    .listen(path)
    .unref();
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1" }, () => {
      server.off("error", reject);
      server.unref();
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Either side's end ends the other. */
function relay(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.unref();
  }
}
